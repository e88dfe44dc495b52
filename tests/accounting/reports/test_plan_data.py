"""Whose are use and money on a plan, which subscriber is comped, and what is not known? Pure."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from accounting.money import to_minor
from accounting.reports.bridge_data import preceding
from accounting.reports.convert import Converter
from accounting.reports.earnings import Earning
from accounting.reports.plan_data import PlanData, plan_data
from accounting.reports.plan_recurring import in_currency
from accounting.reports.plan_sections import plan_sections
from accounting.revenue.monthly import Subscription

APRIL, MAY = date(2026, 4, 1), date(2026, 5, 1)
UNIT = 10**18


def use(user: str, holder: str, cost: str, status: str = "priced") -> Any:
    """A call of 10 tokens on the plan pro."""
    return SimpleNamespace(
        user_id=user,
        holder=holder,
        plan="pro",
        component="provider",
        purpose="production",
        charge_status=status,
        effective_cost=Decimal(cost),
        events=1,
        input_tokens=10,
        output_tokens=0,
        uncached_input_tokens=10,
        cache_read_tokens=0,
        cache_write_tokens=0,
    )


def of(costs: list[Any], revenue: list[Earning], *subscriptions: Subscription) -> PlanData:
    return plan_data(costs, revenue, subscriptions, APRIL, MAY, lambda _: True)


def sold(user: str, **changed: Any) -> Subscription:
    return Subscription(f"s-{user}", "pro", user, "acme", to_minor("30"), "USD", APRIL, None, **changed)


def test_use_of_an_accounts_other_users_is_the_subscribers() -> None:
    found = of([use("ann", "ann", "2"), use("bob", "ann", "3")], [], sold("ann")).subscribers["pro"]
    assert [(one.user_id, one.cost, one.requests) for one in found] == [("ann", 5 * UNIT, 2)]


def test_who_pays_by_lines_alone_is_not_comped_and_who_was_given_the_plan_is() -> None:
    revenue = [Earning("subscription", 9 * UNIT, "USD", "cyd", None, "pro")]
    found = {one.user_id: one.comped for one in of([], revenue, sold("dan", comped=True)).subscribers["pro"]}
    assert found == {"cyd": False, "dan": True}


def test_use_without_a_price_is_told() -> None:
    costs = [use("ann", "ann", "2"), use("bob", "bob", "2"), use("bob", "bob", "0", "unpriced")]
    found = {one.user_id: (one.cost, one.known) for one in of(costs, [], sold("ann"), sold("bob")).subscribers["pro"]}
    assert found == {"ann": (2 * UNIT, True), "bob": (2 * UNIT, False)}


def test_a_list_says_how_many_losers_it_leaves_out() -> None:
    costs = [use(user, user, "2") for user in ("ann", "bob", "cyd")]
    losing = plan_sections(of(costs, [], *(sold(user) for user in ("ann", "bob", "cyd"))), costs, "USD", 2)[0]
    assert (len(losing.rows), losing.note[:1]) == (2, "1")


def test_the_days_before_are_as_many_and_the_months_before_are_months() -> None:
    assert preceding(date(2026, 4, 10), date(2026, 4, 20)) == (date(2026, 3, 31), date(2026, 4, 10))
    assert preceding(date(2026, 1, 1), date(2026, 4, 1)) == (date(2025, 10, 1), date(2026, 1, 1))


def test_what_a_plan_brings_is_not_known_where_a_part_is_not() -> None:
    parts = {("pro", "USD"): None, ("pro", "EUR"): to_minor("5")}
    assert in_currency(parts, "EUR", APRIL, Converter("EUR", {}, {})) == {"pro": None}
