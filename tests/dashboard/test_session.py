"""Who gets in, for how long, and what of the key can be seen?"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from tests.dashboard.conftest import SCRIPT, Product, shown

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@pytest.fixture
def visit(product: Product, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], AppTest]:
    """Opens the overview and signs in with a key."""
    monkeypatch.setenv("TOKENCOGS_API_URL", product.url)
    monkeypatch.delenv("TOKENCOGS_DASHBOARD_KEY", raising=False)

    def enter(key: str) -> AppTest:
        app = AppTest.from_string(SCRIPT.format(view="overview"), default_timeout=30).run()
        app.text_input[0].set_value(key)
        return app.button[0].click().run()

    return enter


def test_a_stranger_is_asked_for_a_key_and_shown_nothing(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENCOGS_API_URL", product.url)
    app = AppTest.from_string(SCRIPT.format(view="overview"), default_timeout=30).run()
    assert [one.label for one in app.text_input] == ["API key"]
    assert not app.metric


def test_a_good_key_lets_in_and_signing_out_forgets_it(visit: Callable[[str], AppTest], product: Product) -> None:
    app = visit(f"  {product.keys['viewer']}\n")
    assert app.title[0].value == "Overview"
    assert product.keys["viewer"] not in shown(app)
    assert product.keys["viewer"] not in str(app.query_params)
    next(one for one in app.sidebar.button if one.label == "Sign out").click().run()
    assert [one.label for one in app.text_input] == ["API key"]
    assert "api_key" not in app.session_state


@pytest.mark.parametrize("key", ["", "tc_acme_wrong", "tc_acme_" + "x" * 40, "tc_acme_é", "a\tb"])
def test_a_wrong_key_is_told_without_saying_what_is_wrong(visit: Callable[[str], AppTest], key: str) -> None:
    assert (
        visit(key).error[0].value
        == "This key is missing, malformed, unknown or revoked. Check that all of it was copied."
    )


def test_a_key_that_only_sends_usage_is_told_so(visit: Callable[[str], AppTest], product: Product) -> None:
    assert "may only send usage" in visit(product.keys["ingest"]).error[0].value


def test_a_session_ends_after_its_time(
    visit: Callable[[str], AppTest], product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = visit(product.keys["viewer"])
    monkeypatch.setenv("TOKENCOGS_SESSION_MINUTES", "0")
    assert "Your session has expired" in app.run().warning[0].value
    assert "api_key" not in app.session_state


def test_a_session_lasts_eight_hours() -> None:
    assert session.SESSION_MINUTES == 480
