"""Dated rules over HTTP: does a report count by the rule that was in force on each day?"""

from __future__ import annotations

import httpx
import pytest

from tests.events import body, event

pytestmark = pytest.mark.storage
JULY = {"from": "2026-07-01", "to": "2026-07-05"}


@pytest.fixture(scope="module", autouse=True)
def _used(admin: httpx.Client) -> None:
    """A free call on 1 and one on 3 July, 0.0028 each; an account invoiced 4 dollars for the four days."""
    sent = [
        event("f1", user_id="ann", account_id="acme", purpose="free", occurred_at="2026-07-01T12:00:00Z"),
        event("f3", user_id="ann", account_id="acme", purpose="free", occurred_at="2026-07-03T12:00:00Z"),
        event("b3", user_id="bob", account_id="acme", purpose="free", occurred_at="2026-07-03T12:00:00Z"),
        event("b4", user_id="bob", account_id="acme", purpose="free", occurred_at="2026-07-04T12:00:00Z"),
    ]
    line = {"line_id": "l", "kind": "subscription", "amount": "4", "currency": "USD", "booked_on": "2026-07-01"}
    served = {"starts_on": "2026-07-01", "ends_on": "2026-07-05", "account_id": "acme"}
    answers = [
        admin.post("/v1/usage/events", content=body(sent)),
        admin.post("/v1/revenue/lines", json=[{**line, **served}]),
    ]
    assert [answer.json()["accepted"] for answer in answers] == [4, 1]


def _total(admin: httpx.Client, row: str) -> dict[str, str]:
    rows = admin.get("/v1/reports/margin", params=JULY).json()["totals"]
    (found,) = [one for one in rows if one["row"] == row]
    return dict(found)


def test_the_free_tier_becomes_cost_of_revenue_from_the_day_stated(admin: httpx.Client) -> None:
    assert _total(admin, "total_by_policy")["provider_cost"] == "0"
    stated = {"purpose": "free", "statement_line": "cost_of_revenue", "effective_from": "2026-07-03"}
    assert admin.put("/v1/policies/purposes", json=stated).json() == {**stated, "own": True}
    # Three of four calls are of 3 July or later.
    assert _total(admin, "total_by_policy")["provider_cost"] == "0.0084"
    assert _total(admin, "total")["provider_cost"] == "0.0112"
    rows = admin.get("/v1/policies/purposes").json()["purposes"]
    assert [(row["effective_from"], row["statement_line"], row["own"]) for row in rows if row["purpose"] == "free"] == [
        ("2000-01-01", "sales_and_marketing", False),
        ("2026-07-03", "cost_of_revenue", True),
    ]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"purpose": "fun"}, "purpose"),
        ({"statement_line": "cogs"}, "statement_line"),
        ({"effective_from": "July"}, "effective_from"),
    ],
)
def test_a_purpose_a_line_or_a_day_that_does_not_exist_is_refused(
    admin: httpx.Client, changed: dict[str, str], field: str
) -> None:
    stated = {"purpose": "free", "statement_line": "internal", "effective_from": "2026-07-03", **changed}
    answer = admin.put("/v1/policies/purposes", json=stated)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_account_revenue_reaches_users_by_the_rule_of_each_day(admin: httpx.Client) -> None:
    """A dollar a day: 1 July stays, so does 2 July, by seats of an account nobody used that day; the rest goes by use."""
    for rule, day in (("seats", "2026-07-02"), ("use", "2026-07-03")):
        body = {"rule": rule, "effective_from": day}
        assert admin.put("/v1/policies/account-revenue", json=body).json() == body
    assert admin.get("/v1/policies/account-revenue").json()["rules"] == [
        {"rule": "seats", "effective_from": "2026-07-02"},
        {"rule": "use", "effective_from": "2026-07-03"},
    ]
    rows = admin.get("/v1/reports/margin", params=JULY).json()["rows"]
    # By requests of 3 and 4 July together: ann one, bob two, of two dollars.
    assert {row["user_id"]: row["net_revenue"] for row in rows} == {
        "acme": "2",
        "ann": "0.666666666666666667",
        "bob": "1.333333333333333333",
    }
    by_seat = {"rule": "seats", "effective_from": "2026-07-03"}
    admin.put("/v1/policies/account-revenue", json=by_seat)
    rows = admin.get("/v1/reports/margin", params=JULY).json()["rows"]
    assert {row["user_id"]: row["net_revenue"] for row in rows} == {"acme": "2", "ann": "1", "bob": "1"}


def test_another_rule_is_refused_by_name(admin: httpx.Client) -> None:
    answer = admin.put("/v1/policies/account-revenue", json={"rule": "luck", "effective_from": "2026-07-03"})
    assert (answer.status_code, answer.json()["field"]) == (400, "rule")


def test_an_eval_that_counts_as_cost_of_revenue_is_in_the_margin_by_policy_as_in_the_statement(
    admin: httpx.Client,
) -> None:
    sent = [
        event("own", user_id="ann", occurred_at="2026-08-01T12:00:00Z"),
        event("free", user_id="ann", purpose="trial", occurred_at="2026-08-01T12:00:00Z"),
        event("eval-1", purpose="eval", occurred_at="2026-08-01T12:00:00Z"),
        event("eval-2", purpose="eval", occurred_at="2026-08-02T00:00:00Z"),
    ]
    assert admin.post("/v1/usage/events", content=body(sent)).json()["accepted"] == 4
    stated = {"purpose": "eval", "statement_line": "cost_of_revenue", "effective_from": "2026-08-02"}
    assert admin.put("/v1/policies/purposes", json=stated).status_code == 200
    days = {"from": "2026-08-01", "to": "2026-08-03"}
    statement = admin.get("/v1/reports/cost-of-revenue", params=days).json()["totals"]
    line = next(row for row in statement if row["statement_line"] == "cost_of_revenue")
    assert (line["effective_cost"], line["events"]) == ("0.0056", 2)
    for report in ("margin", "plan-profitability"):
        rows = {row["row"]: row for row in admin.get(f"/v1/reports/{report}", params=days).json()["totals"]}
        names = ("provider_cost", "free_tier_cost", "off_statement_cost", "events")
        assert [rows["total_by_policy"][name] for name in names] == ["0.0056", "0", "0", 2]
        # The trial's call leaves with its cost.
        assert [rows["total_free_tier_out"][name] for name in names] == ["0.0028", "0", "0", 1]
        assert [rows["total"][name] for name in names] == ["0.0112", "0.0028", "0.0056", 4]
