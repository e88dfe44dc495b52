"""Prices, terms and invoice lines over HTTP, and the reports that show them."""

from __future__ import annotations

import io
from typing import Any

import httpx
import pytest
from openpyxl import load_workbook

pytestmark = pytest.mark.storage
APRIL = {"from": "2026-04-01", "to": "2026-05-01"}
LINE: dict[str, Any] = {
    "line_id": "inv-1",
    "kind": "one_off",
    "amount": "30.00",
    "currency": "USD",
    "booked_on": "2026-04-02",
    "user_id": "bob",
}


@pytest.fixture(scope="module", autouse=True)
def _sold(admin: httpx.Client) -> None:
    """Pro at 30, sold to ann with a tenth off."""
    price = {"price": "30.00", "effective_from": "2026-01-01"}
    sold = {"plan": "pro", "user_id": "ann", "monthly_price": "0", "starts_on": "2026-01-01", "revenue_from": "plan"}
    coupon = {"kind": "coupon", "starts_on": "2026-04-01", "percent_off": "10"}
    answers = [
        admin.put("/v1/plans/pro", json={"kind": "flat", "acquisition_cost": "15"}),
        admin.put("/v1/plans/pro/prices", json=price),
        admin.put("/v1/subscriptions/s1", json=sold),
        admin.put("/v1/subscriptions/s1/terms/spring", json=coupon),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200]


def test_prices_are_listed_as_they_were_stated(admin: httpx.Client) -> None:
    (found,) = admin.get("/v1/plan-prices").json()["prices"]
    assert (found["plan"], found["price"], found["effective_from"], found["unit"]) == ("pro", "30", "2026-01-01", None)


def test_a_line_is_booked_once_and_a_bad_one_is_named(admin: httpx.Client) -> None:
    bad = {**LINE, "line_id": "inv-2", "kind": "refund"}
    first = admin.post("/v1/revenue/lines", json=[LINE, bad]).json()
    again = admin.post("/v1/revenue/lines", json=[LINE]).json()
    assert (first["accepted"], again["accepted"], again["duplicates"]) == (1, 0, 1)
    assert [(row["line"], row["field"]) for row in first["rejected"]] == [(2, "amount")]
    assert [row["line_id"] for row in admin.get("/v1/revenue/lines").json()["lines"]] == ["inv-1"]


def test_the_margin_has_the_discounted_subscription_and_the_line(admin: httpx.Client) -> None:
    admin.post("/v1/revenue/lines", json=[LINE])
    rows = admin.get("/v1/reports/margin", params=APRIL).json()["rows"]
    assert {row["user_id"]: (row["gross_revenue"], row["discounts"], row["net_revenue"]) for row in rows} == {
        "ann": ("30", "-3", "27"),
        "bob": ("30", "0", "30"),
    }


def test_a_report_comes_as_a_page_and_as_a_workbook(admin: httpx.Client) -> None:
    page = admin.get("/v1/reports/plan-profitability", params={**APRIL, "format": "html"})
    assert page.headers["content-type"].startswith("text/html")
    assert "Caps on use" in page.text
    book = admin.get("/v1/reports/plan-profitability", params={**APRIL, "format": "xlsx"})
    assert {"statement", "caps", "control"} <= set(load_workbook(io.BytesIO(book.content)).sheetnames)


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("PUT", "/v1/plans/gold/prices", {"price": "1", "effective_from": "2026-01-01"}, "plan"),
        (
            "PUT",
            "/v1/plans/pro/prices",
            {"price": "1", "effective_from": "2026-01-01", "unit": "requests"},
            "unit_price",
        ),
        ("PUT", "/v1/subscriptions/s1/terms/t", {"kind": "coupon", "starts_on": "2026-01-01"}, "percent_off"),
        ("PUT", "/v1/revenue/customers/cus_1", {}, "user_id"),
        ("POST", "/v1/revenue/stripe", [{"id": "x"}], "object"),
        ("POST", "/v1/revenue/stripe?recognition=month", [], "recognition"),
    ],
)
def test_what_can_not_be_used_is_refused_by_its_field(
    admin: httpx.Client, method: str, path: str, body: Any, field: str
) -> None:
    answer = admin.request(method, path, json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        (rb'[{"object":"customer","id":"cus_\ud800","metadata":{"user_id":"u"}}]', "objects[0].id", r"cus_\ud800"),
        (rb'[{"object":"x"},{"object":"k\udc00"}]', "objects[1].object", r"k\udc00"),
        (rb'[{"object":"x","\ud800":1}]', "objects[0]", r"\ud800"),
    ],
)
def test_half_a_character_in_an_object_is_named(admin: httpx.Client, content: bytes, field: str, value: str) -> None:
    answer = admin.post("/v1/revenue/stripe", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["field"], answer.json()["value"]) == (400, field, value)


def test_a_pair_of_surrogates_is_a_character(admin: httpx.Client) -> None:
    content = rb'[{"object":"k\ud83d\ude00"}]'
    answer = admin.post("/v1/revenue/stripe", content=content, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["skipped"]) == (200, {"k\U0001f600 is not read": 1})
