"""Which tables stand beside the plans' profit and loss?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from accounting.reports.base import Column, Row
from accounting.reports.distribution import PERCENTILES, TOPS, cumulative_shares, gini, nearest_rank, top_share
from accounting.reports.exact import percent
from accounting.reports.plan_data import INPUTS, PlanData
from accounting.reports.plan_intervals import interval_section
from accounting.reports.ratios import percent_of, rounded_if_known, rounded_to
from accounting.reports.sections import Section
from accounting.reports.subscribers import UNITS, Subscriber, break_even, cap, losing
from accounting.reports.use_distribution import use_section

LISTED = 1_000
CAPS = (95, 99)
POINTS = tuple(range(0, 101, 5))
_PLAN = (Column("billing_currency", "text", table=False), Column("plan", "text"))


def plan_sections(data: PlanData, costs: Iterable[Any], currency: str, limit: int | None) -> list[Section]:
    """All sections of one currency; plans in the order of their keys.

    Args:
        costs: the currency's rows of `read_costs`, for the token mix.
        limit: at most so many loss-making users a plan; None: LISTED.
    """
    plans = {plan: data.subscribers[plan] for plan in sorted(data.subscribers)}
    mixes = _mixes(costs)
    return [
        _loss_making(plans, currency, limit or LISTED),
        _distribution(plans, currency),
        use_section(plans, currency),
        _curve(plans, currency),
        _break_even(plans, mixes, currency),
        _caps(plans, currency),
        _free_tier(data, currency),
        interval_section(plans, currency),
    ]


def amount(units: int) -> Decimal:
    """Currency units of a whole number of 10^-18."""
    return Decimal(units).scaleb(-18)


def _loss_making(plans: dict[str, list[Subscriber]], currency: str, limit: int) -> Section:
    rows: list[Row] = []
    left_out = 0
    for plan, members in plans.items():
        lost = losing(members)
        left_out += max(len(lost) - limit, 0)
        rows += [
            {
                "billing_currency": currency,
                "plan": plan,
                "user_id": one.user_id,
                "net_revenue": amount(one.net),
                "usage_cost": amount(one.cost),
                "payment_fees": amount(one.fees),
                "margin": amount(one.margin),
                "requests": one.requests,
                "tokens": one.tokens,
                "note": _note(one),
            }
            for one in lost[:limit]
        ]
    columns = (
        *_PLAN,
        Column("user_id", "text"),
        *(Column(name, "money") for name in ("net_revenue", "usage_cost", "payment_fees", "margin")),
        Column("requests", "count"),
        Column("tokens", "count"),
        Column("note", "text"),
    )
    note = f"{left_out} more are left out; ask with a higher limit." if left_out else ""
    return Section("loss_making", f"Loss-making subscribers, {currency}", columns, tuple(rows), note)


def _note(one: Subscriber) -> str:
    return ", ".join(word for word in (one.unpaid, "" if one.known else "cost partly unknown") if word)


def _distribution(plans: dict[str, list[Subscriber]], currency: str) -> Section:
    rows = []
    for plan, members in plans.items():
        ascending = sorted(one.cost for one in members)
        uneven = gini(ascending)
        rows.append(
            {
                "billing_currency": currency,
                "plan": plan,
                "subscribers": len(members),
                "cost_mean": rounded_to(Fraction(sum(ascending), len(members) * 10**18)),
                **{f"cost_p{point}": amount(nearest_rank(ascending, point)) for point in PERCENTILES},
                "cost_max": amount(ascending[-1]),
                "gini": rounded_if_known(uneven),
                **{f"top_{top}_pct": percent_of(top_share(ascending, top)) for top in TOPS},
            }
        )
    columns = (
        *_PLAN,
        Column("subscribers", "count"),
        Column("cost_mean", "number"),
        *(Column(f"cost_p{point}", "money") for point in PERCENTILES),
        Column("cost_max", "money"),
        Column("gini", "number"),
        *(Column(f"top_{top}_pct", "percent") for top in TOPS),
    )
    note = (
        "Usage cost of a subscriber. A percentile is the cost of one of them (nearest rank). top_k_pct: part of the cost that the "
        "dearest k % have."
    )
    return Section("cost_distribution", f"Cost of a subscriber, {currency}", columns, tuple(rows), note)


def _curve(plans: dict[str, list[Subscriber]], currency: str) -> Section:
    rows = []
    for plan, members in plans.items():
        counts = sorted({len(members) * point // 100 for point in POINTS})
        profit = cumulative_shares(sorted((one.margin for one in members), reverse=True), counts)
        lorenz = cumulative_shares(sorted(one.cost for one in members), counts)
        rows += [
            {
                "billing_currency": currency,
                "plan": plan,
                "subscribers_pct": percent(count, len(members)),
                "profit_pct": percent_of(earned),
                "cost_pct": percent_of(spent),
            }
            for count, earned, spent in zip(counts, profit, lorenz, strict=True)
        ]
    columns = (*_PLAN, *(Column(name, "percent") for name in ("subscribers_pct", "profit_pct", "cost_pct")))
    note = (
        "profit_pct: part of the plan's profit that its best subscribers make together (above 100 where others lose it again; the sign "
        "turns where the plan itself loses). cost_pct: part of the cost that its cheapest have (Lorenz)."
    )
    shape = ("plan", "subscribers_pct", "profit_pct", "cost_pct")
    return Section("heavy_users", f"Heavy users, {currency}", columns, tuple(rows), note, shape)


def _break_even(plans: dict[str, list[Subscriber]], mixes: dict[str, dict[str, int]], currency: str) -> Section:
    rows = []
    for plan, members in plans.items():
        for unit in UNITS:
            found = break_even(members, unit)
            cost = found.unit_cost
            rows.append(
                {
                    "billing_currency": currency,
                    "plan": plan,
                    "unit": unit,
                    "break_even_use": rounded_if_known(found.use),
                    "unit_cost": None if cost is None else rounded_to(cost / 10**18, 18),
                    "above": None if found.use is None else found.above,
                    "above_pct": None if found.use is None else percent(found.above, len(members)),
                    "loss": amount(-sum(one.margin for one in losing(members))),
                    "token_mix": _mix_text(mixes.get(plan, {})),
                }
            )
    columns = (
        *_PLAN,
        Column("unit", "text"),
        Column("break_even_use", "number"),
        Column("unit_cost", "number"),
        Column("above", "count"),
        Column("above_pct", "percent"),
        Column("loss", "money"),
        Column("token_mix", "text"),
    )
    note = (
        "Use in the period at which an average paying subscriber (not comped, not on trial) earns nothing: net revenue less payment fees, "
        "over the plan's blended cost of a unit, which holds for its token mix alone. loss: what loss-making subscribers lose together."
    )
    return Section("break_even", f"Break-even use, {currency}", columns, tuple(rows), note)


def _caps(plans: dict[str, list[Subscriber]], currency: str) -> Section:
    rows = []
    for plan, members in plans.items():
        for share in CAPS:
            for unit in UNITS:
                found = cap(members, share, unit)
                above = None if found.limit is None else sum(one.use(unit) > found.limit for one in members)
                rows.append(
                    {
                        "billing_currency": currency,
                        "plan": plan,
                        "covered_pct": Decimal(share),
                        "unit": unit,
                        "cap": found.limit,
                        "capped": above,
                        "note": found.note,
                    }
                )
    columns = (
        *_PLAN,
        Column("covered_pct", "percent"),
        Column("unit", "text"),
        Column("cap", "count"),
        Column("capped", "count"),
        Column("note", "text"),
    )
    note = (
        "The largest use in the period such that this part of the subscribers have net revenue, less fees, of at least the cost of "
        "min(use, cap), each at its own cost of a unit; comped ones and trials left out. capped: who used more."
    )
    return Section("caps", f"Caps on use, {currency}", columns, tuple(rows), note)


def _free_tier(data: PlanData, currency: str) -> Section:
    cost = data.free_tier_cost
    row = {
        "billing_currency": currency,
        "free_tier_cost": amount(cost),
        "paying_users": data.payers,
        "cost_per_paying_user": rounded_to(Fraction(cost, data.payers * 10**18)) if data.payers else None,
    }
    columns = (
        Column("billing_currency", "text"),
        Column("free_tier_cost", "money"),
        Column("paying_users", "count"),
        Column("cost_per_paying_user", "number"),
    )
    note = "Cost of purposes free and trial, whoever caused it; paying users have net revenue above 0 on any plan."
    return Section("free_tier", f"What the free tier costs, {currency}", columns, (row,), note)


def _mixes(costs: Iterable[Any]) -> dict[str, dict[str, int]]:
    found: defaultdict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(INPUTS, 0))
    for row in costs:
        if row.plan:
            for name in INPUTS:
                found[row.plan][name] += getattr(row, f"{name}_tokens")
    return dict(found)


def _mix_text(mix: dict[str, int]) -> str:
    whole = sum(mix.values())
    parts: Sequence[str] = [f"{name} {percent(count, whole, 2)} %" for name, count in mix.items() if count and whole]
    return ", ".join(parts)
