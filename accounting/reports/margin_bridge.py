"""Why did gross margin change since the period before? A bridge in steps that add up exactly, and price, volume and mix of each plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction

from sqlalchemy import Engine

from accounting.reports.base import Column, Footer, Node, Row
from accounting.reports.bridge import STEPS, Side, bridge
from accounting.reports.bridge_data import preceding, read_side
from accounting.reports.period_days import period_days
from accounting.reports.price_volume_mix import Sold, price_volume_mix
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import rounded_to
from accounting.reports.sections import Section, SectionedReport
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "margin-bridge"
DESCRIPTION = (
    "Why gross margin changed since the period before: steps in a printed order that add up exactly; price, volume, mix"
)
GROUP_BY: tuple[str, ...] = ()
COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("step", "text"),
    Column("revenue", "money"),
    Column("cost", "money"),
    Column("margin", "money", plus=("revenue",), minus=("cost",)),
)
_PLACES = 18


def margin_bridge(engine: Engine, context: TenantContext, query: ReportQuery) -> SectionedReport:
    """The bridge from the period before (as many months where it is made of whole ones, else as many days), free tier in.

    Tenant's currency alone; unpriced use costs nothing in either period, coverage says how much that is. Raises InvalidInput where the
    period is not of the tenant's reporting days.
    """
    query.check_group_by(GROUP_BY)
    first, until = period_days(query, context)
    earlier = preceding(first, until)
    with read_only(engine, context.tenant) as connection:
        before = read_side(connection, context, *earlier)
        after = read_side(connection, context, first, until)
    currency = context.billing_currency
    found = bridge(before, after)
    amounts = zip(_exact([step.revenue for step in found]), _exact([step.cost for step in found]), strict=True)
    rows = [_row("detail", currency, step.name, *both) for step, both in zip(found, amounts, strict=True)]
    change = _row("total", currency, "change", _sum(rows, "revenue"), _sum(rows, "cost"))
    feet = [
        _foot("margin_before", before, currency, earlier),
        _foot("margin_after", after, currency, (first, until)),
        Footer(
            "difference", _difference(before, after, change), currency, "margins less steps; 0 or the report is wrong"
        ),
        Footer("order", Decimal(len(STEPS)), currency, f"steps in this order: {', '.join(STEPS)}"),
    ]
    outline = (Node(change, tuple(Node(row) for row in rows)),)
    return SectionedReport(NAME, query, COLUMNS, outline, [], feet, sections=(_mix(before, after, currency),))


def _row(kind: str, currency: str, step: str, revenue: Decimal, cost: Decimal) -> Row:
    return {
        "row": kind,
        "billing_currency": currency,
        "step": step,
        "revenue": revenue,
        "cost": cost,
        "margin": revenue - cost,
    }


def _exact(values: Sequence[Fraction]) -> list[Decimal]:
    """Steps to 18 decimals: the running total is rounded, so that they add up to the rounded change."""
    result, running, shown = [], Fraction(0), Fraction(0)
    for value in values:
        running += value
        rounded = Fraction(round(running * 10**_PLACES), 10**_PLACES)
        result.append(rounded_to(rounded - shown, _PLACES))
        shown = rounded
    return result


def _sum(rows: Sequence[Row], name: str) -> Decimal:
    return rounded_to(sum((Fraction(row[name]) for row in rows), Fraction(0)), _PLACES)


def _foot(name: str, side: Side, currency: str, days: tuple[date, date]) -> Footer:
    margin = rounded_to(side.revenue() - side.cost(), _PLACES)
    return Footer(
        name, margin, currency, f"gross margin of {days[0].isoformat()} to {days[1].isoformat()}, free tier in"
    )


def _difference(before: Side, after: Side, change: Row) -> Decimal:
    margins = after.revenue() - after.cost() - before.revenue() + before.cost()
    return rounded_to(margins - Fraction(change["revenue"]) + Fraction(change["cost"]), _PLACES)


def _mix(before: Side, after: Side, currency: str) -> Section:
    old, new = (
        {plan: Sold(one.users, one.revenue) for plan, one in side.plans.items() if one.users or one.revenue}
        for side in (before, after)
    )
    rows = []
    for plan, effects in price_volume_mix(old, new).items():
        names = ("price", "volume", "mix", "new")
        values = _exact([getattr(effects, name) for name in names])
        parts = dict(zip(names, values, strict=True))
        whole = rounded_to(effects.total, _PLACES)
        rows.append({"billing_currency": currency, "plan": plan, **parts, "change": whole})
    columns = (
        Column("billing_currency", "text", table=False),
        Column("plan", "text"),
        *(Column(name, "money") for name in ("price", "volume", "mix", "new", "change")),
    )
    note = "Net revenue by plan; volume is average subscribers. new: plans sold in one of the periods only."
    return Section("price_volume_mix", f"Price, volume and mix, {currency}", columns, tuple(rows), note)
