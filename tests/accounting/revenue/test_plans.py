"""Are plans and subscriptions kept, replaced and ended, and is what can't be one refused by field and value?"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounting.errors import InvalidInput, NotFound
from accounting.revenue.plans import (
    end_subscription,
    list_plans,
    list_subscriptions,
    make_subscription,
    put_plan,
    put_subscription,
    running,
)
from accounting.storage.engine import read_only
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database

USD = TenantContext("acme", "UTC", "USD")
GOOD: dict[str, Any] = {"plan": "pro", "user_id": "u1", "monthly_price": "20.00", "starts_on": "2026-02-10"}


def test_a_subscription_is_exact_and_in_the_tenants_currency() -> None:
    made = make_subscription(USD, "s1", **GOOD)
    assert (made.monthly_price, made.billing_currency) == (20 * 10**15, "USD")
    assert (made.starts_on, made.ends_on, made.account_id) == (date(2026, 2, 10), None, None)


def test_fifteen_decimals_are_held() -> None:
    assert make_subscription(USD, "s1", **GOOD | {"monthly_price": "0.000000000000001"}).monthly_price == 1
    assert (
        make_subscription(USD, "s1", **GOOD | {"monthly_price": Decimal("19.99")}).monthly_price == 19_990000000000000
    )


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"monthly_price": 20.0}, "monthly_price"),
        ({"monthly_price": "-1"}, "monthly_price"),
        ({"monthly_price": "1e3"}, "monthly_price"),
        ({"monthly_price": "NaN"}, "monthly_price"),
        ({"monthly_price": "0.0000000000000001"}, "monthly_price"),
        ({"monthly_price": "1000000000000"}, "monthly_price"),
        ({"starts_on": "2026-02-30"}, "starts_on"),
        ({"starts_on": "10.02.2026"}, "starts_on"),
        ({"starts_on": "2026-W07-2"}, "starts_on"),
        ({"starts_on": "1900-01-01"}, "starts_on"),
        ({"ends_on": "2026-02-10"}, "ends_on"),
        ({"ends_on": "2026-02-09"}, "ends_on"),
        ({"billing_currency": "EUR"}, "billing_currency"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "a\0b"}, "user_id"),
        ({"plan": "x" * 257}, "plan"),
        ({"account_id": " "}, "account_id"),
        ({"quantity": 0}, "quantity"),
        ({"quantity": "two"}, "quantity"),
        ({"interval_months": 121}, "interval_months"),
        ({"trial_until": "2026-02-09"}, "trial_until"),
        ({"revenue_from": "stripe"}, "revenue_from"),
        ({"comped": "yes"}, "comped"),
    ],
)
def test_what_is_no_subscription_is_refused_by_field(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_subscription(USD, "s1", **GOOD | changed)
    assert caught.value.field == field


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "acme", "Acme")
    found = context(database.app, "acme")
    put_plan(database.app, found, "pro", "Pro")
    return found


@pytest.mark.storage
def test_a_plan_is_made_once_and_renamed(database: Database, tenant: TenantContext) -> None:
    new = {"plan": "team", "display_name": "team", "kind": "flat", "acquisition_cost": None}
    assert put_plan(database.app, tenant, "team") == new
    assert put_plan(database.app, tenant, "team", "Team") == new | {"display_name": "Team"}
    changed = new | {"display_name": "Team", "kind": "per_seat", "acquisition_cost": "12.5"}
    assert put_plan(database.app, tenant, "team", "Team", "per_seat", "12.50") == changed
    assert put_plan(database.app, tenant, "team", "Team") == changed
    assert put_plan(database.app, tenant, "team", kind="flat") == changed | {"kind": "flat"}
    assert put_plan(database.app, tenant, "team") == changed | {"kind": "flat"}
    assert put_plan(database.app, tenant, "team", kind="per_seat") == changed
    assert changed in list_plans(database.app, tenant)


@pytest.mark.storage
def test_a_plan_of_no_known_kind_is_refused(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="kind='lifetime'"):
        put_plan(database.app, tenant, "team", kind="lifetime")


@pytest.mark.storage
def test_a_subscription_is_added_replaced_and_listed(database: Database, tenant: TenantContext) -> None:
    put_subscription(database.app, tenant, make_subscription(tenant, "listed", **GOOD))
    changed = make_subscription(
        tenant, "listed", **GOOD | {"monthly_price": "25", "ends_on": "2026-12-01", "user_id": "u7"}
    )
    answer = put_subscription(database.app, tenant, changed)
    assert answer == {
        "subscription_id": "listed",
        "plan": "pro",
        "user_id": "u7",
        "account_id": None,
        "monthly_price": "25",
        "billing_currency": "USD",
        "starts_on": "2026-02-10",
        "ends_on": "2026-12-01",
        "quantity": 1,
        "interval_months": 1,
        "comped": False,
        "trial_until": None,
        "revenue_from": "price",
    }
    assert list_subscriptions(database.app, tenant, user_id="u7") == [answer]
    assert list_subscriptions(database.app, tenant, user_id="u7", plan="team") == []


@pytest.mark.storage
def test_a_subscription_to_an_unknown_plan_is_refused(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="plan='gold'"):
        put_subscription(database.app, tenant, make_subscription(tenant, "s", **GOOD | {"plan": "gold"}))


@pytest.mark.storage
def test_a_subscription_ends_before_its_last_day_and_not_before_its_first(
    database: Database, tenant: TenantContext
) -> None:
    put_subscription(database.app, tenant, make_subscription(tenant, "ended", **GOOD | {"user_id": "u8"}))
    assert end_subscription(database.app, tenant, "ended", date(2026, 3, 1))["ends_on"] == "2026-03-01"
    with pytest.raises(InvalidInput, match="ends_on='2026-02-10'"):
        end_subscription(database.app, tenant, "ended", "2026-02-10")
    with pytest.raises(NotFound, match="'never'"):
        end_subscription(database.app, tenant, "never", "2026-03-01")


@pytest.mark.storage
def test_running_subscriptions_are_those_that_touch_the_days(database: Database, tenant: TenantContext) -> None:
    put_subscription(
        database.app, tenant, make_subscription(tenant, "short", **GOOD | {"user_id": "u9", "ends_on": "2026-02-12"})
    )
    with read_only(database.app, tenant.tenant) as connection:
        touched = {
            (start, end): "short" in {one.subscription_id for one in running(connection, tenant, start, end)}
            for start, end in [
                (date(2026, 2, 1), date(2026, 2, 10)),
                (date(2026, 2, 1), date(2026, 2, 11)),
                (date(2026, 2, 11), date(2026, 3, 1)),
                (date(2026, 2, 12), date(2026, 3, 1)),
            ]
        }
    assert list(touched.values()) == [False, True, True, False]
