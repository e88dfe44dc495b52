"""Does each page show the API's figures, for its own tenant and scope, and say what to do where there are none?"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.app import PAGES
from tests.api.serving import make_keys
from tests.conftest import Database
from tests.dashboard.conftest import Product, shown
from tests.events import event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]
Read = Callable[..., AppTest]
VIEWS = ("overview", "explorer", "quality", "prices", "administration")
EVERY = sorted(view for views in PAGES.values() for view, _, _ in views)


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_shows_no_error_and_the_url_of_its_figures(read: Read, product: Product, view: str) -> None:
    app = read(view)
    assert not app.exception
    assert not app.error
    assert app.title[0].value
    urls = re.findall(r"'(http://[^']+)'", "\n".join(str(code.value) for code in app.code))
    assert urls or view == "prices"
    for url in urls:
        assert (
            httpx.get(url, headers={"Authorization": f"Bearer {product.keys['admin']}"}, trust_env=False).status_code
            == 200
        )
        assert "tc_" not in url


@pytest.mark.parametrize(
    ("view", "url"),
    [
        *(
            ("prices", {"view": tab, "model": "o3"})
            for tab in ("history", "changes", "disagreements", "approvals", "impact")
        ),
        *(("administration", {"view": tab}) for tab in ("people", "plans", "policies", "closes")),
        ("explorer", {"dim": "user_id", "split": "none"}),
        ("explorer", {"dim": "month", "split": "feature", "charges": "1", "order": "time"}),
        ("prices", {"view": "changes", "known_at": "2999-01-01"}),
    ],
    ids=str,
)
def test_each_part_of_a_page_is_drawn_from_its_link(read: Read, view: str, url: dict[str, str]) -> None:
    app = read(view, **url)
    assert not app.exception
    assert not app.error
    assert {name: app.query_params[name] for name in url} == url


def test_the_policies_are_shown_and_stated_on_the_page(read: Read, product: Product) -> None:
    app = read("administration", view="policies")
    assert "cost_of_revenue" in shown(app)
    assert 'title="no">no<' in shown(app)  # none of them is the tenant's own
    next(one for one in app.selectbox if one.label == "Purpose").select("trial")
    next(one for one in app.selectbox if one.label == "Statement line").select("internal")
    next(one for one in app.button if one.label == "State").click().run()
    assert "trial stands on internal from" in app.success[0].value
    with product.client(product.keys["viewer"]) as client:
        own = [row for row in client.get("/v1/policies/purposes").json()["purposes"] if row["own"]]
    assert [(row["purpose"], row["statement_line"]) for row in own] == [("trial", "internal")]


def test_the_overview_shows_the_months_figures(read: Read) -> None:
    app = read("overview")
    figures = {metric.label: metric.value for metric in app.metric}
    # Production alone is cost of revenue: 0.0028; all spend 0.0056; 20 less 0.0056 is 19.9944.
    assert figures["Net revenue"] == "$20.00"
    assert figures["Cost of revenue"] == "$0.0028"
    assert figures["All spend"] == "$0.0056"
    assert figures["Gross margin"] == "$19.99"
    assert figures["Free tier cost"] == "$0.0028"
    assert "Not in these amounts: 1 unpriced events" in shown(app)
    assert "Exactly: 19.9944 USD" in next(metric for metric in app.metric if metric.label == "Gross margin").help


def test_a_running_period_is_shown_to_date_and_what_is_to_come_is_not_in_its_figures(
    read: Read, product: Product
) -> None:
    """The subscription runs on: of 60 days around today, the complete ones alone are in the figures and said to be."""
    today = datetime.now(UTC).date()
    days = {"from": str(today - timedelta(days=30)), "to": str(today + timedelta(days=30))}
    with product.client(product.other) as client:
        client.put("/v1/plans/runs-on", json={"display_name": "Runs on"}).raise_for_status()
        paid = {"plan": "runs-on", "user_id": "zoe", "monthly_price": "20.00", "starts_on": days["from"]}
        client.put("/v1/subscriptions/zoe", json=paid).raise_for_status()
        rows = client.get("/v1/reports/overview", params=days).json()["rows"]
    period, to_date = (next(row for row in rows if row["row"] == name) for name in ("period", "to_date"))
    assert Decimal(period["net_revenue"]) > Decimal(to_date["net_revenue"]) > 0
    app = read("overview", key=product.other, from_=days["from"], to=days["to"], exact="1")
    figures = {metric.label: metric.value for metric in app.metric}
    assert figures["Net revenue"] == f"{to_date['net_revenue']} USD"
    assert f"To date: the complete days from {days['from']} on, {to_date['to']} not included." in shown(app)


def test_every_digit_is_shown_to_those_who_ask_for_it(read: Read) -> None:
    figures = {metric.label: metric.value for metric in read("overview", exact="1").metric}
    assert figures["Gross margin"] == "19.9944 USD"


def test_a_link_brings_its_period_and_filters(read: Read) -> None:
    app = read("explorer", from_="2026-10-06", to="2026-10-07", dim="purpose", split="none", model="o3")
    assert app.query_params["from"] == "2026-10-06"
    assert 'title="0.0028 USD"' in shown(app)
    assert "filter=model:o3" in shown(app)
    assert "free" in shown(app)
    assert "production" not in re.sub(r'title="[^"]*"', "", shown(app))


def test_a_period_without_usage_says_what_to_do(read: Read) -> None:
    assert "No usage and no revenue in this period" in shown(read("overview", from_="2026-08-01", to="2026-09-01"))


@pytest.fixture(scope="module")
def newcomer(product: Product, database: Database) -> str:
    """An admin key of a tenant that has sent nothing yet."""
    return make_keys(database, "newcomer")["admin"]


@pytest.mark.parametrize("view", EVERY)
def test_every_page_has_something_to_say_to_a_tenant_without_usage(read: Read, newcomer: str, view: str) -> None:
    app = read(view, key=newcomer)
    assert not app.exception
    assert not app.error
    assert app.info or app.code


def test_a_chart_that_would_lack_rows_is_not_drawn_and_the_rest_is_named(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.views.explorer._ROWS", "1")
    app = read("explorer", dim="purpose", split="none")
    assert "More than 1 rows: a chart would lack the rest" in shown(app)
    assert not app.get("plotly_chart")
    assert ">remaining<" in shown(app)
    monkeypatch.setattr("dashboard.views.explorer._ROWS", "2")
    assert read("explorer", dim="purpose", split="none").get("plotly_chart")


def test_what_the_api_refuses_is_told_with_field_and_value(read: Read) -> None:
    told = shown(read("overview", from_="2026-11-01", to="2026-10-01"))
    assert "This can't be asked" in told
    assert "`to` = `2026-10-01`" in told


def test_a_charge_can_be_followed_to_its_price_rows(read: Read) -> None:
    told = shown(read("explorer", charges="1", event="e1"))
    assert "How `e1` came about" in told
    assert "uncached_input" in told
    assert "genai-prices" in told


@pytest.mark.parametrize("view", VIEWS)
def test_no_page_shows_another_tenants_data(read: Read, product: Product, view: str) -> None:
    read(view, key=product.other)
    told = shown(read(view, charges="1", dim="user_id", split="model"))
    assert "globex" not in told


def test_a_viewer_sees_no_single_charges_and_no_keys(read: Read) -> None:
    assert "A key of scope analyst or admin shows the single charges" in shown(
        read("explorer", scope="viewer", charges="1")
    )
    assert "Only an admin key sees keys and people" in shown(read("administration", scope="viewer"))


def test_a_key_that_ends_in_between_leads_back_to_the_sign_in(read: Read, product: Product) -> None:
    with product.client(product.keys["admin"]) as client:
        made = client.post("/v1/keys", json={"scope": "viewer", "label": "short-lived"}).json()
        app = read("overview", key=made["key"])
        assert not app.error
        client.delete(f"/v1/keys/{made['key_id']}").raise_for_status()
    next(button for button in app.sidebar.button if button.label == "Refresh").click().run()
    assert "You are signed out" in app.error[0].value


def test_an_unpriced_model_is_assigned_a_price_on_the_page(read: Read, product: Product) -> None:
    app = read("quality")
    assert "nobody-knows-it" in shown(app)
    next(one for one in app.text_input if one.label == "Priced as").set_value("openai/o3")
    next(one for one in app.checkbox if one.label == "Price what is booked already").check()
    next(one for one in app.button if one.label == "Assign").click().run()
    assert "openai/nobody-knows-it is priced as openai/o3: 1 calls have one now" in app.success[0].value
    with product.client(product.keys["viewer"]) as client:
        assert client.get("/v1/prices/unpriced").json() == {"unpriced": []}


def test_a_key_made_on_the_page_is_shown_once_and_works(read: Read, product: Product) -> None:
    app = read("administration")
    next(one for one in app.text_input if one.label == "Who holds it").set_value("finance sheet")
    next(one for one in app.button if one.label == "Make").click().run()
    key = next(str(code.value) for code in app.code if str(code.value).startswith("tc_acme_"))
    with product.client(key) as client:
        assert client.get("/v1/me").json()["scope"] == "viewer"
    app.run()
    assert key not in shown(app)
    assert "finance sheet" in shown(app)


def test_the_price_book_shows_what_a_model_costs(read: Read) -> None:
    told = shown(read("prices", model="o3"))
    assert re.search(r'title="8">8<', told)
    assert "By model" not in told


def test_a_month_is_tried_closed_and_what_comes_later_is_told(read: Read, product: Product) -> None:
    def close(month: str, sure: bool) -> str:
        app = read("administration", view="closes")
        next(one for one in app.text_input if one.label == "Month").set_value(month)
        next(one for one in app.checkbox if one.label == "It can't be reopened.").set_value(sure)
        next(one for one in app.button if one.label == "Close").click().run()
        return shown(app)

    assert "No month is closed yet" in shown(read("administration", view="closes"))
    with product.client(product.keys["admin"]) as client:
        client.post("/v1/usage/events", json=[event("s1", occurred_at="2026-07-05T10:00:00Z")]).raise_for_status()
    assert "2026-07 can be closed: nothing stands against it." in close("2026-07", sure=False)
    assert "No month is closed yet" in shown(read("administration", view="closes"))
    assert "2026-07 is closed." in close("2026-07", sure=True)
    assert "is closed already" in close("2026-07", sure=True)
    with product.client(product.keys["admin"]) as client:
        client.post("/v1/usage/events", json=[event("s2", occurred_at="2026-07-06T10:00:00Z")]).raise_for_status()
    page = read("administration", view="closes")
    next(button for button in page.sidebar.button if button.label == "Refresh").click().run()
    told = shown(page)
    assert "Booked in a later month than it was incurred in" in told
    assert 'title="2026-08"' in told  # the first open month
    assert told.count('title="0.0028 USD"') == 3  # effective and billed at the close, and what came later
    assert "An admin key closes a month" in shown(read("administration", scope="viewer", view="closes"))
