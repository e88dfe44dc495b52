"""What do the tests of the pages share? A real API on a real database with a small month of two tenants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest
from streamlit.testing.v1 import AppTest

from tests.api.serving import Running, make_keys, running
from tests.conftest import Database
from tests.events import event

SCRIPT = "from dashboard import shell\nfrom dashboard.views import {view}\n\nshell.show({view}.page)\n"
OCTOBER = {"from": "2026-10-01", "to": "2026-11-01"}


@dataclass(frozen=True)
class Product:
    """A running API. Attributes: url; keys: of the tenant `acme` by scope; other: admin key of the tenant `globex`."""

    url: str
    keys: dict[str, str]
    other: str

    def client(self, key: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=30, trust_env=False)


@pytest.fixture(scope="module")
def product(database: Database) -> Iterator[Product]:
    """acme in October 2026: two priced calls of o3 (0.0028 each; 1,000 in at 2, 100 out at 8 a million), one of a model without a
    price, a subscription of 20 a month; globex: one call."""
    with running(database) as server:
        made = Product(server.url, make_keys(database, "acme"), make_keys(database, "globex")["admin"])
        _fill(server, made)
        yield made


def _fill(server: Running, made: Product) -> None:
    calls = [
        event("e1", occurred_at="2026-10-05T10:00:00Z", user_id="ada"),
        event("e2", occurred_at="2026-10-06T10:00:00Z", user_id="bob", purpose="free"),
        event("e3", occurred_at="2026-10-06T11:00:00Z", user_id="bob", model="nobody-knows-it"),
    ]
    with made.client(made.keys["admin"]) as client:
        assert client.post("/v1/usage/events", json=calls).json()["accepted"] == 3
        client.put("/v1/plans/pro", json={"display_name": "Pro"}).raise_for_status()
        paid = {
            "plan": "pro",
            "user_id": "ada",
            "monthly_price": "20.00",
            "starts_on": "2026-10-01",
            "ends_on": "2026-11-01",
        }
        client.put("/v1/subscriptions/s1", json=paid).raise_for_status()
    with made.client(made.other) as client:
        secret = [event("g1", occurred_at="2026-10-07T10:00:00Z", user_id="globex-secret-user")]
        assert client.post("/v1/usage/events", json=secret).json()["accepted"] == 1


@pytest.fixture
def read(product: Product, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Reads a page as somebody with a key does, with what the URL says."""

    def page(view: str, /, scope: str = "admin", key: str | None = None, **url: str) -> AppTest:
        monkeypatch.setenv("TOKENCOGS_API_URL", product.url)
        monkeypatch.setenv("TOKENCOGS_DASHBOARD_KEY", key or product.keys[scope])
        app = AppTest.from_string(SCRIPT.format(view=view), default_timeout=30)
        for name, value in url.items():
            app.query_params[name.rstrip("_")] = value
        return app.run()

    return page


def shown(app: AppTest) -> str:
    """All that a page says, as one text."""
    parts = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.success]
    texts = [str(part.value) for part in parts]
    texts += [f"{metric.label} {metric.value} {metric.delta}" for metric in app.metric]
    texts += [str(code.value) for code in app.code]
    texts += [block.proto.body for block in app.get("html")]
    return "\n".join(texts)
