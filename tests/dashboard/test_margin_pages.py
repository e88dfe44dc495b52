"""Do the pages on margins, workload and own machines show the API's figures? acme: see conftest.py; ada pays 20, a call costs 0.0028."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.dashboard.conftest import Product, shown
from tests.events import event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]
Read = Callable[..., AppTest]


@pytest.mark.parametrize(
    ("view", "url"),
    [
        ("users", {}),
        ("users", {"by": "account", "rows": "25"}),
        ("users", {"user": "ada"}),
        ("plans", {}),
        ("plans", {"plan": "pro", "unit": "tokens"}),
        ("bridge", {}),
        ("workload", {}),
        ("workload", {"by": "model"}),
        *(("selfhosted", {"topic": topic}) for topic in ("bill", "token", "buy", "diagnosis", "curve")),
    ],
    ids=str,
)
def test_each_part_of_a_page_is_drawn_from_its_link(read: Read, view: str, url: dict[str, str]) -> None:
    app = read(view, scope="viewer", **url)
    assert not app.exception
    assert not app.error
    assert {name: app.query_params[name] for name in url} == url


def test_users_are_listed_the_least_profitable_first(read: Read) -> None:
    app = read("users")
    figures = {metric.label: metric.value for metric in app.metric}
    # 20 less two calls of 0.0028; without the free one 19.9972
    assert (figures["Gross margin"], figures["Without free tier"]) == ("$19.99", "$20.00")
    page = shown(app)
    assert page.index("bob") < page.index("ada")
    assert 'title="-0.0028 USD"' in page
    assert 'title="19.9972 USD"' in page
    assert 'alt="cost by day of bob"' in page


def test_one_user_has_its_margin_its_spending_and_its_plan(read: Read) -> None:
    page = shown(read("users", user="ada"))
    assert "Net revenue $20.00" in page
    assert 'title="0.0028 USD"' in page
    assert "s1" in page


def test_one_users_tiles_are_all_that_its_margin_is_made_of(read: Read) -> None:
    told = [(metric.label, metric.value) for metric in read("users", user="ada").metric]
    assert told == [
        ("Net revenue", "$20.00"),
        ("Provider cost", "$0.0028"),
        ("Tools cost", "$0.00"),
        ("Self hosted cost", "$0.00"),
        ("Payment fees", "$0.00"),
        ("Gross margin", "$20.00"),
        ("Gross margin %", ">99.9 %"),
    ]


def test_a_user_that_nobody_knows_is_told_what_to_do(read: Read) -> None:
    assert "Not found" in read("users", user="nobody").error[0].value


def test_nobody_on_a_plan_loses_money_is_said(read: Read) -> None:
    app = read("plans")
    assert "Nobody on a plan costs more" in app.success[0].value
    assert {metric.label: metric.value for metric in app.metric}["Lose money"] == "0"


def test_the_bridge_goes_from_nothing_to_the_months_margin(read: Read) -> None:
    figures = {metric.label: metric.value for metric in read("bridge").metric}
    assert (figures["Before"], figures["In this period"], figures["Change"]) == ("$0.00", "$19.99", "$19.99")


def test_without_pools_the_page_says_how_to_have_one(read: Read) -> None:
    assert "tokencogs pools" in read("selfhosted").info[0].value


def test_workload_says_why_cost_changed_where_there_are_two_months(read: Read, product: Product) -> None:
    assert "Why cost changed" not in shown(read("workload", key=product.other, from_="2026-10-01", to="2026-11-01"))
    earlier = [event(f"g{day}", occurred_at=f"2026-09-0{day}T10:00:00Z", user_id="gus") for day in (2, 3)]
    with product.client(product.other) as client:
        assert client.post("/v1/usage/events", json=earlier).json()["accepted"] == 2
    app = read("workload", key=product.other, from_="2026-09-01", to="2026-11-01")
    page = shown(app)
    assert "Why cost changed since the month before" in page
    # two calls of 0.0028 in September, one in October, each as long and as dear
    assert 'title="-0.0028 USD"' in page
    # the first month has none before it to be compared with
    drawn = [json.loads(chart.proto.spec)["layout"]["xaxis"].get("categoryarray") for chart in app.get("plotly_chart")]
    assert ["2026-10"] in drawn
