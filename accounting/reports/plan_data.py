"""Who subscribes to which plan in a period, and what did each pay, use and cost?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from accounting.reports.earnings import FEE, Earning
from accounting.reports.exact import stored_units
from accounting.reports.margin_data import user_facing
from accounting.reports.margin_row import MarginSums
from accounting.reports.statement_lines import FREE_TIER
from accounting.reports.subscribed import Subscribed, subscribed
from accounting.reports.subscribers import Subscriber
from accounting.revenue.monthly import Subscription

_NOT_ON = Subscribed(0, "")
INPUTS = ("uncached_input", "cache_read", "cache_write", "output")


class _Open:
    """A subscriber while sums are added."""

    __slots__ = ("cost", "events", "fees", "net", "tokens", "unknown")

    def __init__(self) -> None:
        self.net = self.fees = self.cost = self.events = self.tokens = self.unknown = 0


@dataclass(frozen=True)
class PlanData:
    """One currency's period by plan.

    Attributes:
        subscribers: plan -> subscribers by user: who was on the plan on a day of the period or has paid for it in the period. Money of
            others (a late refund of a former one) is in the plan's sums alone.
        sums: plan -> sums of the whole plan; '' and the other keys of `apart` stand for what is no plan's.
        apart: unmatched_revenue | unmatched_usage | idle | not_user_facing -> sums.
        free_tier_cost: cost of purposes free and trial, 10^-18 currency units.
        payers: users with net revenue above 0, on any plan.
    """

    subscribers: dict[str, list[Subscriber]]
    sums: dict[str, MarginSums]
    apart: dict[str, MarginSums]
    free_tier_cost: int
    payers: int


def plan_data(
    costs: Iterable[Any],
    revenue: Iterable[Earning],
    subscriptions: Sequence[Subscription],
    first: date,
    until: date,
    on_statement: Callable[[Any], bool],
) -> PlanData:
    """Puts a currency's rows of `read_costs`, revenue and subscriptions of the days [first, until) together.

    Args: on_statement: whether the purpose policy counts a row of `read_costs` as cost of revenue.

    A subscriber is a user and a plan: who changes plan is one on each, with what was paid and used while on it. Use of an account's
    other users counts for the one who holds its subscription.
    """
    found: defaultdict[tuple[str, str], _Open] = defaultdict(_Open)
    sums: defaultdict[str, MarginSums] = defaultdict(MarginSums)
    apart: defaultdict[str, MarginSums] = defaultdict(MarginSums)
    on_plan = subscribed(subscriptions, first, until)
    for plan, user in on_plan:
        found[plan, user].fees += 0
        sums[plan].fees += 0
    free = _spend(costs, found, sums, apart, on_statement)
    paid: defaultdict[str, int] = defaultdict(int)
    for money in revenue:
        (sums[money.plan] if money.plan else apart["unmatched_revenue"]).earn(money)
        if money.user_id and money.kind != FEE:
            paid[money.user_id] += money.amount
        if money.plan and money.user_id:
            own = found[money.plan, money.user_id]
            if money.kind == FEE:
                own.fees += money.amount
            else:
                own.net += money.amount
    subscribers: defaultdict[str, list[Subscriber]] = defaultdict(list)
    for (plan, user), own in found.items():
        if (plan, user) in on_plan or own.events or own.net > 0:
            subscribers[plan].append(_closed(user, own, on_plan.get((plan, user), _NOT_ON)))
    payers = sum(amount > 0 for amount in paid.values())
    return PlanData(dict(subscribers), dict(sums), dict(apart), free, payers)


def _spend(
    costs: Iterable[Any],
    found: defaultdict[tuple[str, str], _Open],
    sums: defaultdict[str, MarginSums],
    apart: defaultdict[str, MarginSums],
    on_statement: Callable[[Any], bool],
) -> int:
    free = 0
    for row in costs:
        priced = row.charge_status == "priced"
        cost = stored_units(row.effective_cost) if priced else 0
        if row.component == "idle":
            apart["idle"].spend(row, on_statement(row))
        elif not user_facing(row):
            apart["not_user_facing"].spend(row, on_statement(row))
        elif not row.plan:
            apart["unmatched_usage"].spend(row, on_statement(row))
        else:
            sums[row.plan].spend(row, on_statement(row))
            own = found[row.plan, row.holder]
            own.cost += cost
            own.events += row.events
            own.tokens += row.input_tokens + row.output_tokens
            own.unknown += 0 if priced else row.events
        if row.purpose in FREE_TIER and row.component != "idle":
            free += cost
    return free


def _closed(user: str, own: _Open, on: Subscribed) -> Subscriber:
    return Subscriber(
        user,
        own.net,
        own.fees,
        own.cost,
        own.events,
        own.tokens,
        on.unpaid,
        on.days,
        own.unknown == 0,
    )
