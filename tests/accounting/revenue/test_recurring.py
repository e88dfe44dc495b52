"""What comes back every month on a day: who is paused, on trial, ended or paid for a year?"""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounting.money import to_minor
from accounting.revenue.line_imports import import_rows
from accounting.revenue.plans import make_subscription, put_plan, put_subscription, running
from accounting.revenue.price_terms import term_start
from accounting.revenue.recurring_on import recurring_on
from accounting.revenue.terms import put_term
from accounting.storage.engine import read_only
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database

pytestmark = pytest.mark.storage

SOLD: dict[str, dict[str, Any]] = {
    "plain": {"monthly_price": "20"},
    "paused": {"monthly_price": "20"},
    "trial": {"monthly_price": "20", "trial_until": "2026-04-16"},
    "ended": {"monthly_price": "20", "ends_on": "2026-04-15"},
    "year": {"monthly_price": "10", "interval_months": 12},
    "seats": {"monthly_price": "5", "quantity": 3},
    "comped": {"monthly_price": "20", "comped": True},
}


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    """One pause from 10 to 20 April; who is invoiced has no line."""
    create_tenant(database.owner, "monthly", "Monthly")
    found = context(database.app, "monthly")
    for plan in ("pro", "invoiced"):
        put_plan(database.app, found, plan)
    for name, terms in SOLD.items():
        made = make_subscription(found, name, plan="pro", user_id=name, starts_on="2026-01-05", **terms)
        put_subscription(database.app, found, made)
    billed = make_subscription(
        found, "b", plan="invoiced", user_id="b", monthly_price="0", starts_on="2026-01-01", revenue_from="lines"
    )
    put_subscription(database.app, found, billed)
    put_term(database.app, found, "paused", "t", kind="pause", starts_on="2026-04-10", ends_on="2026-04-20")
    return found


@pytest.mark.parametrize(
    ("day", "amount"),
    [
        # plain 20, year 120 / 12, seats 3 x 5; then who ends on the 15th, who pays from the 16th, and who is back on the 20th.
        (14, "65"),
        (15, "45"),
        (16, "65"),
        (20, "85"),
    ],
)
def test_each_day_counts_who_pays_then(database: Database, tenant: TenantContext, day: int, amount: str) -> None:
    on = date(2026, 4, day)
    with read_only(database.app, tenant.tenant) as connection:
        sold = running(connection, tenant, date(2026, 4, 1), date(2026, 5, 1))
        found = recurring_on(connection, tenant, sold, on)
    assert found == {("pro", "USD"): to_minor(amount), ("invoiced", "USD"): None}


@pytest.mark.parametrize(("day", "amount"), [(9, None), (10, "3"), (19, "3"), (20, None)])
def test_who_is_invoiced_pays_what_lines_say_of_the_days_they_serve(
    database: Database, tenant: TenantContext, day: int, amount: str | None
) -> None:
    """9 for three months, served from 10 to 20 June; a set-up fee of 50 beside it comes once."""
    sold = make_subscription(
        tenant,
        "q",
        plan="quarterly",
        user_id="q",
        monthly_price="0",
        starts_on="2026-06-01",
        revenue_from="lines",
        interval_months=3,
    )
    served = {"booked_on": "2026-06-10", "starts_on": "2026-06-10", "ends_on": "2026-06-20", "subscription_id": "q"}
    rows = [
        {"line_id": "q1", "kind": "subscription", "amount": "9", "currency": "USD", **served},
        {"line_id": "q2", "kind": "one_off", "amount": "50", "currency": "USD", **served},
    ]
    put_plan(database.app, tenant, "quarterly")
    put_subscription(database.app, tenant, sold)
    import_rows(database.app, tenant, enumerate(rows, start=1))
    with read_only(database.app, tenant.tenant) as connection:
        found = recurring_on(connection, tenant, [sold], date(2026, 6, day))
    assert found == {("quarterly", "USD"): None if amount is None else to_minor(amount)}


@pytest.mark.parametrize(
    ("day", "start"),
    [("2026-01-20", "2026-01-20"), ("2027-01-19", "2026-01-20"), ("2027-01-20", "2027-01-20")],
)
def test_a_term_begins_on_its_day_counted_from_the_end_of_the_trial(
    tenant: TenantContext, day: str, start: str
) -> None:
    sold = make_subscription(
        tenant,
        "y",
        plan="pro",
        user_id="y",
        monthly_price="1",
        starts_on="2026-01-05",
        trial_until="2026-01-20",
        interval_months=12,
    )
    assert term_start(sold, date.fromisoformat(day)) == date.fromisoformat(start)
