"""What did we spend and earn, how does that compare with the period before, and where is the period going?

Costs are those of the cost-of-revenue statement, revenue and margins those of the report `margin`, so that each figure is found there
again. What compares leaves the running day out: half a day against a whole one says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Engine

from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.compared import Days, compared
from accounting.reports.cost_of_revenue import cost_of_revenue
from accounting.reports.exact import ZERO, minus, percent, total
from accounting.reports.margin import margin
from accounting.reports.margin_row import COSTS
from accounting.reports.period_days import period_days
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import rounded_to
from accounting.tenant import TenantContext

NAME = "overview"
DESCRIPTION = (
    "Revenue, cost of revenue, gross margin with and without free tier of a period; its complete days against as many of the period "
    "before; the run rate"
)
GROUP_BY: tuple[str, ...] = ()
MONEY = (
    "net_revenue",
    "cost_of_revenue",
    "effective_cost",
    "gross_margin",
    "free_tier_cost",
    "gross_margin_free_tier_out",
)
COUNTS = ("events", "unpriced_events", "pending_events", "tokens")
PERCENT = {"gross_margin_pct": "gross_margin", "gross_margin_free_tier_out_pct": "gross_margin_free_tier_out"}
"""Percentage -> the margin that it is of net revenue."""
CHANGES = {f"{name}_change_pct": name for name in ("net_revenue", "cost_of_revenue", "gross_margin")}
"""Percentage -> the amount whose change it is, of its size before; in the row `change` alone."""
COLUMNS = (
    Column("row", "text"),
    Column("billing_currency", "text"),
    Column("from", "text"),
    Column("to", "text"),
    *(Column(name, "money") for name in MONEY[:4]),
    Column("gross_margin_pct", "percent"),
    *(Column(name, "money") for name in MONEY[4:]),
    Column("gross_margin_free_tier_out_pct", "percent"),
    *(Column(name, "count", table=name == "events") for name in COUNTS),
    *(Column(name, "percent") for name in CHANGES),
)
_SCALE = 18


@dataclass(frozen=True)
class _Span:
    """The figures of some days: currency -> row; what the two reports differ by; the statement."""

    rows: dict[str, Row]
    differences: dict[str, Decimal]
    statement: Report


def overview(
    engine: Engine, context: TenantContext, query: ReportQuery, clock: Callable[[], datetime] | None = None
) -> Report:
    """One row each, for every currency: `period`, [from, to) as asked; `to_date`, its complete days; `before`, as many of the period
    before; `change`, to_date less before, percentages in points; `run_rate`, to_date x days / complete days.

    `from` and `to` are reporting days of the tenant. gross_margin is of users' requests of every purpose (free tier in), as
    `total_free_tier_in` of the report `margin`. Without a complete day all rows but `period` hold nothing (None).

    Raises InvalidInput where the period is not of the tenant's reporting days.
    """
    query.check_group_by(GROUP_BY)
    first, until = period_days(query, context)
    now = datetime.now(UTC) if clock is None else clock()
    known = compared(first, until, now.astimezone(ZoneInfo(context.reporting_tz)).date())

    def read(days: Days) -> _Span:
        return _read(engine, context, replace(query, start=days[0], end=days[1]))

    whole = read(known.whole)
    to_date = None if known.to_date is None else whole if known.to_date == known.whole else read(known.to_date)
    earlier = None if known.before is None else read(known.before)
    spans = [span for span in (whole, to_date, earlier) if span is not None]
    outline: list[Node] = []
    for currency in sorted({currency for span in spans for currency in span.rows}):
        rows = [_of(span, currency) for span in (whole, to_date, earlier)]
        rows += [_change(rows[1], rows[2]), _run_rate(rows[1], known.days, known.elapsed)]
        days = (known.whole, known.to_date, known.before, None, known.whole)
        names = ("period", "to_date", "before", "change", "run_rate")
        outline += [Node(_named(name, currency, span, row)) for name, span, row in zip(names, days, rows, strict=True)]
    feet = [
        Footer(
            "difference",
            amount,
            currency,
            "all spend of the statement less costs of the margin report; 0 or one is wrong",
        )
        for currency, amount in sorted(whole.differences.items())
    ]
    return Report(NAME, query, COLUMNS, tuple(outline), whole.statement.coverage, feet, whole.statement.conversions)


def _read(engine: Engine, context: TenantContext, query: ReportQuery) -> _Span:
    """The figures of one period, by currency."""
    statement = cost_of_revenue(engine, context, replace(query, group_by=("purpose",)))
    margins = margin(engine, context, replace(query, group_by=("plan",), limit=None))
    lines = {(row["billing_currency"], row["statement_line"]): row for row in statement.totals}
    sums = {(row["billing_currency"], row["row"]): row for row in margins.totals}
    rows: dict[str, Row] = {}
    differences: dict[str, Decimal] = {}
    for currency in sorted({currency for currency, kind in sums if kind == "total"}):
        whole, line = lines.get((currency, None), {}), lines.get((currency, "cost_of_revenue"), {})
        every, free_in, free_out = (
            sums[currency, kind] for kind in ("total", "total_free_tier_in", "total_free_tier_out")
        )
        rows[currency] = {
            "net_revenue": every["net_revenue"],
            "cost_of_revenue": line.get("effective_cost", ZERO),
            "effective_cost": whole.get("effective_cost", ZERO),
            "gross_margin": free_in["gross_margin"],
            "gross_margin_pct": free_in["gross_margin_pct"],
            "free_tier_cost": every["free_tier_cost"],
            "gross_margin_free_tier_out": free_out["gross_margin"],
            "gross_margin_free_tier_out_pct": free_out["gross_margin_pct"],
            **{name: whole.get(name, 0) for name in COUNTS},
        }
        spent = total(every[name] or ZERO for name in COSTS)
        differences[currency] = minus(whole.get("effective_cost") or ZERO, spent)
    return _Span(rows, differences, statement)


def _of(span: _Span | None, currency: str) -> Row | None:
    """A currency's figures; where a span has none of the currency, nothing was spent or earned in it."""
    if span is None:
        return None
    nothing: Row = dict.fromkeys(MONEY, ZERO) | dict.fromkeys(PERCENT) | dict.fromkeys(COUNTS, 0)
    return span.rows.get(currency, nothing)


def _named(name: str, currency: str, days: Days | None, row: Row | None) -> Row:
    start, end = (None, None) if days is None else (day.isoformat() for day in days)
    unknown = dict.fromkeys(column.name for column in COLUMNS[4:])
    return {"row": name, "billing_currency": currency, "from": start, "to": end, **unknown, **(row or {})}


def _change(now: Row | None, then: Row | None) -> Row | None:
    """Amounts, percentages and counts now less then; and amounts relative to then, None where that is 0 or unknown."""
    if now is None or then is None:
        return None
    changed: Row = {
        name: None if now[name] is None or then[name] is None else minus(now[name], then[name])
        for name in (*MONEY, *PERCENT)
    }
    changed |= {name: now[name] - then[name] for name in COUNTS}
    return changed | {name: _relative(changed[of], then[of]) for name, of in CHANGES.items()}


def _relative(change: Decimal | None, then: Decimal | None) -> Decimal | None:
    return None if change is None or then is None else percent(change, abs(then))


def _run_rate(row: Row | None, days: int, elapsed: int) -> Row | None:
    """Each amount times days / elapsed, rounded once to 18 decimals; margins in percent stay what they are."""
    if row is None:
        return None
    scale = Fraction(days, elapsed)
    amounts: dict[str, Any] = {
        name: None if row[name] is None else rounded_to(Fraction(row[name]) * scale, _SCALE) for name in MONEY
    }
    return {**amounts, **{name: row[name] for name in PERCENT}, **dict.fromkeys(COUNTS)}
