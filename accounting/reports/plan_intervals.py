"""How sure is each estimate of a plan? Its value beside a bootstrap interval, or the reason why there is none."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from accounting.reports.base import Column, Row
from accounting.reports.bootstrap import FEWEST, LEVEL, SEED, Interval, intervals
from accounting.reports.distribution import PERCENTILES, TOPS, gini, nearest_rank, top_share
from accounting.reports.ratios import rounded_if_known, rounded_to
from accounting.reports.sections import Section
from accounting.reports.subscribers import UNITS, Subscriber, break_even, cap, losing


def interval_section(plans: dict[str, list[Subscriber]], currency: str) -> Section:
    """A row a plan and estimate. Costs in currency units, caps and break-even in units of use."""
    rows: list[Row] = []
    for plan, members in plans.items():
        found = intervals(members)
        few = f"subscribers: {len(members)}, fewer than {FEWEST}: no interval" if not found else ""
        for name, value in _values(members).items():
            between = found.get(name)
            rows.append(
                {
                    "billing_currency": currency,
                    "plan": plan,
                    "estimate": name,
                    "value": value,
                    "low": _edge(name, between.low if between else None),
                    "high": _edge(name, between.high if between else None),
                    "draws": between.draws if between else None,
                    "note": few or _open(between),
                }
            )
    columns = (
        Column("billing_currency", "text", table=False),
        Column("plan", "text"),
        Column("estimate", "text"),
        *(Column(name, "number") for name in ("value", "low", "high")),
        Column("draws", "count"),
        Column("note", "text"),
    )
    note = f"{LEVEL} % percentile bootstrap over subscribers, seed {SEED}."
    return Section("intervals", f"How sure the estimates are, {currency}", columns, tuple(rows), note)


def _values(members: list[Subscriber]) -> dict[str, Decimal | None]:
    """The estimates themselves, exact until they are rounded to 6 decimals here."""
    count, net = len(members), sum(one.net for one in members)
    ascending = sorted(one.cost for one in members)
    uneven = gini(ascending)
    exact: dict[str, Fraction | None] = {
        "margin_pct": Fraction(100 * sum(one.margin for one in members), net) if net else None,
        "loss_making_pct": Fraction(100 * len(losing(members)), count),
        "net_revenue_mean": Fraction(net, count * 10**18),
        "cost_mean": Fraction(sum(ascending), count * 10**18),
        **{f"cost_p{point}": Fraction(nearest_rank(ascending, point), 10**18) for point in PERCENTILES},
        "gini": uneven,
        **{f"top_{top}_pct": _of_hundred(top_share(ascending, top)) for top in TOPS},
    }
    for unit in UNITS:
        exact[f"break_even_{unit}"] = break_even(members, unit).use
        for share in (95, 99):
            limit = cap(members, share, unit).limit
            exact[f"cap_{share}_{unit}"] = None if limit is None else Fraction(limit)
    return {name: rounded_if_known(value) for name, value in exact.items()}


_MONEY = ("cost_", "net_revenue_")


def _of_hundred(share: Fraction | None) -> Fraction | None:
    return None if share is None else 100 * share


def _edge(name: str, edge: float | None) -> Decimal | None:
    if edge is None:
        return None
    value = Fraction(edge)
    return rounded_to(value / 10**6 if name.startswith(_MONEY) else value)


def _open(between: Interval | None) -> str:
    if between is None or (between.low is not None and between.high is not None):
        return ""
    return (
        "open above: in some draws no cap is needed"
        if between.low is not None
        else "not to be told from these subscribers"
    )
