"""How is use spread over a plan's subscribers, and who of them loses money? Ranges that a chart can draw."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from accounting.reports.base import Column, Row
from accounting.reports.sections import Section
from accounting.reports.subscribers import UNITS, Subscriber, losing

STEPS = (1, 2, 5)
EDGES = (0, *(step * 10**power for power in range(25) for step in STEPS))
_NOTE = (
    "Subscribers by what they used in the period, from from_use to below below_use; ranges of 1, 2 and 5 times the powers of ten, and "
    "one of those who used nothing."
)


def use_section(plans: Mapping[str, Sequence[Subscriber]], currency: str) -> Section:
    """Ranges of requests and tokens by plan, from the first that anybody is in to the last."""
    rows: list[Row] = []
    for plan, members in plans.items():
        lost = {id(one) for one in losing(members)}
        for unit in UNITS:
            counts: dict[int, tuple[int, int]] = {}
            for one in members:
                at = bisect_right(EDGES, one.use(unit)) - 1
                every, losers = counts.get(at, (0, 0))
                counts[at] = (every + 1, losers + (id(one) in lost))
            rows += [
                {
                    "billing_currency": currency,
                    "plan": plan,
                    "unit": unit,
                    "from_use": EDGES[at],
                    "below_use": EDGES[at + 1],
                    "subscribers": counts.get(at, (0, 0))[0],
                    "loss_making": counts.get(at, (0, 0))[1],
                }
                for at in range(min(counts, default=0), max(counts, default=-1) + 1)
            ]
    columns = (
        Column("billing_currency", "text", table=False),
        Column("plan", "text"),
        Column("unit", "text"),
        *(Column(name, "count") for name in ("from_use", "below_use", "subscribers", "loss_making")),
    )
    return Section("use_distribution", f"Use of subscribers, {currency}", columns, tuple(rows), _NOTE)
