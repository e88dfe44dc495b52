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
from accounting.reports.bridge_rates import BridgeRates, booked_costs, read_bridge_rates
from accounting.reports.coverage import read_coverage
from accounting.reports.earnings import Earnings
from accounting.reports.period_days import period_days
from accounting.reports.price_volume_mix import Sold, price_volume_mix
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import in_steps, rounded_to
from accounting.reports.reconcile import control, elsewhere
from accounting.reports.sections import Section, SectionedReport
from accounting.revenue.plans import running
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
_EFFECTS = ("price", "volume", "mix", "new", "fx")


def margin_bridge(engine: Engine, context: TenantContext, query: ReportQuery) -> SectionedReport:
    """The bridge from the period before (as many months where it is made of whole ones, else as many days), free tier in.

    In one currency every amount counts, and the step `fx` is what rates did (bridge_rates.py); as booked the tenant's currency alone.
    Unpriced use costs nothing in either period; coverage, of the later one, says how much that is. Raises InvalidInput where the period
    is not of the tenant's reporting days, MissingRate for a day without a rate.
    """
    query.check_group_by(GROUP_BY)
    first, until = period_days(query, context)
    earlier = preceding(first, until)
    currency = query.currency or context.billing_currency
    with read_only(engine, context.tenant) as connection:
        periods = (earlier, (first, until))
        sold = [running(connection, context, *days) for days in periods]
        earned = [Earnings(connection, context, own, *days) for own, days in zip(sold, periods, strict=True)]
        rates: BridgeRates | None = None
        if query.currency is not None:
            costs = [booked_costs(connection, context, days) for days in periods]
            rates = read_bridge_rates(connection, query.currency, earlier, costs, earned)
        before, after = (
            read_side(connection, context, days, own, one, rates)
            for days, own, one in zip(periods, sold, earned, strict=True)
        )
        covered = read_coverage(connection, context, query)
        others = [] if query.currency else elsewhere(currency, control(connection, context, query))
    found = bridge(before, after)
    amounts = zip(
        in_steps([step.revenue for step in found], _PLACES),
        in_steps([step.cost for step in found], _PLACES),
        strict=True,
    )
    rows = [_row("detail", currency, step.name, *both) for step, both in zip(found, amounts, strict=True)]
    change = _row("total", currency, "change", _sum(rows, "revenue"), _sum(rows, "cost"))
    feet = [
        _foot("margin_before", before, currency, earlier),
        _foot("margin_after", after, currency, (first, until)),
        Footer(
            "difference", _difference(before, after, change), currency, "margins less steps; 0 or the report is wrong"
        ),
        Footer("order", Decimal(len(STEPS)), currency, f"steps in this order: {', '.join(STEPS)}"),
        *others,
    ]
    outline = (Node(change, tuple(Node(row) for row in rows)),)
    sections = (_mix(before, after, currency), *([rates.section()] if rates else []))
    conversions = rates.converter.conversions() if rates else []
    return SectionedReport(NAME, query, COLUMNS, outline, covered, feet, conversions, sections=sections)


def _row(kind: str, currency: str, step: str, revenue: Decimal, cost: Decimal) -> Row:
    return {
        "row": kind,
        "billing_currency": currency,
        "step": step,
        "revenue": revenue,
        "cost": cost,
        "margin": revenue - cost,
    }


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
        fx = after.fx.get(plan, Fraction(0)) - before.fx.get(plan, Fraction(0))
        values = in_steps([*(getattr(effects, name) for name in _EFFECTS[:-1]), fx], _PLACES)
        parts = dict(zip(_EFFECTS, values, strict=True))
        whole = rounded_to(effects.total + fx, _PLACES)
        rows.append({"billing_currency": currency, "plan": plan, **parts, "change": whole})
    columns = (
        Column("billing_currency", "text", table=False),
        Column("plan", "text"),
        *(Column(name, "money") for name in (*_EFFECTS, "change")),
    )
    note = "Net revenue by plan; volume is average subscribers. new: plans sold in one of the periods only; fx: what rates did."
    return Section("price_volume_mix", f"Price, volume and mix, {currency}", columns, tuple(rows), note)
