"""Plans and subscriptions over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.storage

SOLD: dict[str, Any] = {"plan": "pro", "user_id": "ann", "monthly_price": "20.00", "starts_on": "2026-02-10"}


@pytest.fixture(scope="module", autouse=True)
def _plan(admin: httpx.Client) -> None:
    assert admin.put("/v1/plans/pro", json={"display_name": "Pro"}).json() == _plan_of("pro", "Pro")


def _plan_of(plan: str, display_name: str) -> dict[str, Any]:
    return {"plan": plan, "display_name": display_name, "kind": "flat", "acquisition_cost": None}


def test_plans_are_listed_by_key_and_renamed(admin: httpx.Client) -> None:
    admin.put("/v1/plans/free", json={})
    admin.put("/v1/plans/free", json={"display_name": "Free of charge"})
    assert admin.get("/v1/plans").json() == {"plans": [_plan_of("free", "Free of charge"), _plan_of("pro", "Pro")]}


def test_a_subscription_is_added_replaced_and_found_by_user(admin: httpx.Client) -> None:
    stored = {
        "subscription_id": "s1",
        "plan": "pro",
        "user_id": "ann",
        "account_id": None,
        "monthly_price": "20",
        "billing_currency": "USD",
        "starts_on": "2026-02-10",
        "ends_on": None,
        "quantity": 1,
        "interval_months": 1,
        "comped": False,
        "trial_until": None,
        "revenue_from": "price",
    }
    assert admin.put("/v1/subscriptions/s1", json=SOLD).json() == stored
    admin.put("/v1/subscriptions/s2", json={**SOLD, "user_id": "bob"})
    ended = {**stored, "ends_on": "2026-03-10"}
    assert admin.put("/v1/subscriptions/s1", json={**SOLD, "ends_on": "2026-03-10"}).json() == ended
    assert admin.get("/v1/subscriptions", params={"user_id": "ann"}).json() == {"subscriptions": [ended]}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"plan": "gold"}, "plan"),
        ({"monthly_price": "-1"}, "monthly_price"),
        ({"monthly_price": 20.0}, "monthly_price"),
        ({"monthly_price": "2e1x"}, "monthly_price"),
        ({"ends_on": "2026-02-10"}, "ends_on"),
        ({"starts_on": "10.02.2026"}, "starts_on"),
        ({"billing_currency": "EUR"}, "billing_currency"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_bad_subscription_is_refused_by_its_field(admin: httpx.Client, changes: dict[str, Any], field: str) -> None:
    answer = admin.put("/v1/subscriptions/bad", json={**SOLD, **changes})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
