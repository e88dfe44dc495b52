"""Whose are use and money on a plan, which subscriber is comped, and what is not known? Pure."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from accounting.money import to_minor
from accounting.reports.bridge_data import preceding
from accounting.reports.convert import Converter
from accounting.reports.earnings import Earning
from accounting.reports.plan_data import PlanData, plan_data
from accounting.reports.plan_recurring import in_currency
from accounting.reports.plan_sections import plan_sections
from accounting.reports.subscribers import break_even, losing
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
    days = {"starts_on": APRIL, "ends_on": None}
    return Subscription(f"s-{user}", "pro", user, "acme", to_minor("30"), "USD", **days | changed)


def test_use_of_an_accounts_other_users_is_the_subscribers() -> None:
    found = of([use("ann", "ann", "2"), use("bob", "ann", "3")], [], sold("ann")).subscribers["pro"]
    assert [(one.user_id, one.cost, one.requests) for one in found] == [("ann", 5 * UNIT, 2)]


def test_who_pays_by_lines_alone_is_not_comped_and_who_was_given_the_plan_is() -> None:
    revenue = [Earning("subscription", 9 * UNIT, "USD", "cyd", None, "pro")]
    found = {one.user_id: one.unpaid for one in of([], revenue, sold("dan", comped=True)).subscribers["pro"]}
    assert found == {"cyd": "", "dan": "comped"}


def test_a_trial_of_the_whole_period_is_no_payer_and_one_that_ended_in_it_is() -> None:
    """Both use 2 of cost; ann pays 30, eve's trial ends with the period, fay's on the 16th: two pay."""
    revenue = [Earning("subscription", 30 * UNIT, "USD", "ann", None, "pro")]
    sub = [sold("ann"), sold("eve", trial_until=MAY), sold("fay", trial_until=date(2026, 4, 16))]
    members = of([use(user, user, "2") for user in ("ann", "eve", "fay")], revenue, *sub).subscribers["pro"]
    assert {one.user_id: one.unpaid for one in members} == {"ann": "", "eve": "trial", "fay": ""}
    assert break_even(members, "requests").use == Fraction(15, 2)
    assert [one.user_id for one in losing(members)] == ["eve", "fay"]


def test_who_has_left_is_no_subscriber_whose_late_refund_is_the_plans() -> None:
    """Ann pays 30; 20 go back to bob, who left in March: one subscriber, none of them at a loss, and the plan has 10."""
    revenue = [
        Earning("subscription", 30 * UNIT, "USD", "ann", None, "pro"),
        Earning("refund", -20 * UNIT, "USD", "bob", None, "pro"),
    ]
    found = of([], revenue, sold("ann"))
    assert [one.user_id for one in found.subscribers["pro"]] == ["ann"]
    assert found.sums["pro"].net == 10 * UNIT


def test_subscriptions_that_overlap_are_one_subscribers_days() -> None:
    """From the 1st to the 20th and from the 11th on: 30 days of April, not 40. With a gap, the days that are covered."""
    (one,) = of([], [], sold("ann", ends_on=date(2026, 4, 21)), sold("ann", starts_on=date(2026, 4, 11))).subscribers[
        "pro"
    ]
    assert one.days == 30
    (one,) = of([], [], sold("ann", ends_on=date(2026, 4, 6)), sold("ann", starts_on=date(2026, 4, 11))).subscribers[
        "pro"
    ]
    assert one.days == 25


def test_no_use_breaks_even_where_more_is_given_back_than_paid() -> None:
    revenue = [Earning("refund", -20 * UNIT, "USD", "ann", None, "pro")]
    members = of([use("ann", "ann", "2")], revenue, sold("ann")).subscribers["pro"]
    found = break_even(members, "requests")
    assert (found.use, found.above, found.unit_cost) == (None, 0, 2 * UNIT)


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
