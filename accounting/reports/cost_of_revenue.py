"""What did serving cost, by month, seller and model, and on which line of the statement does it belong?

The total is all spend of the period, on every line, so it equals the ledger; the lines below cost of revenue are there so that it
does. Read from a rollup alone (source.py says which), so that the time taken does not follow the number of events; what the rollups
can't tell apart (coverage.py, unlisted.py) has an index of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine, text

from accounting.errors import InvalidInput
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.convert import Conversion, Converter
from accounting.reports.cost_sums import CostSums
from accounting.reports.coverage import coverage, set_apart
from accounting.reports.exact import ZERO
from accounting.reports.query import ReportQuery
from accounting.reports.reconcile import Control, control, footer
from accounting.reports.slices import Slice, labels, slices
from accounting.reports.statement_lines import UNMAPPED, PurposePolicy, read_policy
from accounting.reports.sums import COSTS, Sums
from accounting.reports.unlisted import unlisted
from accounting.storage.engine import read_only
from accounting.storage.purposes import LINES
from accounting.tenant import TenantContext

NAME = "cost-of-revenue"
DESCRIPTION = (
    "All spend of a period by statement line, seller and model (or what group_by names), one column a local month or day; "
    "the total equals the ledger"
)
USAGE = "Usage"
GRAINS = ("month", "day")
DIMENSIONS = ("seller", "model", "purpose", "category")
GROUP_BY = (*GRAINS, *DIMENSIONS)


def cost_of_revenue(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """The cost-of-revenue statement of a period.

    Detail rows: statement line x seller x model, or the dimensions in `group_by` (seller, model, purpose, category); columns: local months,
    or days where `group_by` has `day`; amounts are effective cost, with list, contracted and billed totals beside. A subtotal a
    line and a total; a currency each, or all in `query.currency`, day by day (convert.py). A cell without usage is 0; one whose
    usage is all unpriced is None.
    """
    query.check_group_by(GROUP_BY)
    if query.limit is not None:
        raise InvalidInput("limit", query.limit, "the statement has all its rows, as they add up to the ledger")
    grain, dimensions = _breakdown(query)
    with read_only(engine, context.tenant) as connection:
        # The groups fit in memory; the planner expects far more of them and would sort on disk.
        connection.execute(text("SET LOCAL work_mem = '64MB'"))
        policy = read_policy(connection)
        parts = slices(query, grain, policy.starts, context.reporting_tz)
        sums = CostSums(connection, context, query)
        if query.currency is None:
            found, converter = sums.as_booked(parts), None
        else:
            found, converter = sums.converted(parts, query.currency)
        checked = control(connection, context, query)
        waiting = set_apart(connection, context, query.since, query.until)
        without_list = unlisted(connection, context, query.since, query.until)
    categories = {row.category for row in found}
    dimensions = dimensions or _default(categories)
    columns = _columns(dimensions, labels(parts))
    if query.currency is None:
        currencies = sorted({context.billing_currency, *(row.billing_currency for row in found)})
    else:
        currencies = [query.currency]
    outline = [_total(currency, found, parts, policy, dimensions) for currency in currencies]
    feet, conversions = _footer(outline, converter, checked)
    for currency in currencies if categories - {USAGE} else ():
        feet += _by_category(currency, [row for row in found if row.billing_currency == currency])
    feet += without_list
    return Report(NAME, query, columns, tuple(outline), coverage(found, waiting), feet, conversions)


def _footer(
    outline: Sequence[Node], converter: Converter | None, checked: Control
) -> tuple[list[Footer], list[Conversion]]:
    """What ties each total to the ledger; a converted one first to its days, then these to the ledger, currency by currency."""
    reported = {node.row["billing_currency"]: node.row["effective_cost"] for node in outline}
    feet: list[Footer] = []
    if converter is not None:
        feet = converter.footer("effective_cost", reported[converter.to_currency] or ZERO)
        reported = dict(converter.by_currency("effective_cost"))
        reported |= {currency: ZERO for currency in checked.incurred if currency not in reported}
    for currency, amount in sorted(reported.items()):
        feet += footer(currency, amount, checked)
    return feet, [] if converter is None else converter.conversions()


def _breakdown(query: ReportQuery) -> tuple[Any, tuple[str, ...]]:
    grains = [name for name in query.group_by if name in GRAINS]
    if len(grains) > 1:
        raise InvalidInput("group_by", ",".join(query.group_by), "month and day exclude each other")
    dimensions = tuple(name for name in query.group_by if name in DIMENSIONS)
    return grains[0] if grains else "month", dimensions


def _default(categories: set[str]) -> tuple[str, ...]:
    """Purchases and credits are lines of their own where there are any, so that usage shows what it costs by itself."""
    return ("seller", "model", "category") if categories - {USAGE} else ("seller", "model")


def _by_category(currency: str, found: Iterable[Any]) -> list[Footer]:
    """Gross, credits and net, and what usage alone costs by list and by contract."""
    sums: defaultdict[str, Sums] = defaultdict(Sums)
    for row in found:
        sums["Credit" if row.category == "Credit" else "gross"].add(row)
        sums["net"].add(row)
        if row.category == USAGE:
            sums[USAGE].add(row)
    lines = (
        ("list_cost_of_usage", sums[USAGE].costs["list_cost"], "of what has a list price; purchases are not in it"),
        ("contracted_cost_of_usage", sums[USAGE].costs["contracted_cost"], "by contract, volume tiers included"),
        ("gross_cost", sums["gross"].costs["effective_cost"], "effective, before credits; unused commitments included"),
        ("credits", sums["Credit"].costs["effective_cost"], "taken off by credits"),
        ("net_cost", sums["net"].costs["effective_cost"], "gross less credits: the total above"),
        ("billed_cost", sums["net"].costs["billed_cost"], "to be paid: purchases, and usage that nothing covers"),
    )
    return [Footer(name, amount, currency, note) for name, amount, note in lines]


def _columns(dimensions: tuple[str, ...], periods: list[str]) -> tuple[Column, ...]:
    return (
        Column("row", "text", table=False),
        Column("billing_currency", "text"),
        Column("statement_line", "text"),
        *(Column(name, "text") for name in dimensions),
        *(Column(period, "money") for period in periods),
        Column("effective_cost", "money", plus=tuple(periods)),
        *(Column(name, "money", table=False) for name in COSTS if name != "effective_cost"),
        *(
            Column(name, "count", table=name == "events")
            for name in ("events", "unpriced_events", "pending_events", "tokens")
        ),
    )


def _total(
    currency: str, found: Iterable[Any], parts: Sequence[Slice], policy: PurposePolicy, dimensions: tuple[str, ...]
) -> Node:
    """The total of one currency with its subtotals and details."""
    periods = labels(parts)
    details: defaultdict[tuple[str, ...], _Cells] = defaultdict(lambda: _Cells(periods))
    subtotals: defaultdict[str, _Cells] = defaultdict(lambda: _Cells(periods))
    total = _Cells(periods)
    for row in found:
        if row.billing_currency != currency:
            continue
        part = parts[row.slice - 1]
        line = policy.line(row.purpose, part.policy_day)
        key = (line, *(getattr(row, name) for name in dimensions))
        for cells in (details[key], subtotals[line], total):
            cells.add(part.label, row)
    lines = [name for name in (*LINES, UNMAPPED) if name in subtotals]
    children = tuple(_line(currency, line, subtotals[line], details, dimensions) for line in lines)
    return Node(_row("total", currency, None, {}, total, dimensions), children)


def _line(
    currency: str, line: str, subtotal: _Cells, details: dict[tuple[str, ...], _Cells], dimensions: tuple[str, ...]
) -> Node:
    own = sorted(key for key in details if key[0] == line)
    rows = [
        _row("detail", currency, line, dict(zip(dimensions, key[1:], strict=True)), details[key], dimensions)
        for key in own
    ]
    return Node(_row("subtotal", currency, line, {}, subtotal, dimensions), tuple(Node(row) for row in rows))


class _Cells:
    """Sums of one row: by period, where there was any usage, and in all."""

    def __init__(self, periods: Sequence[str]) -> None:
        self.periods = periods
        self.by_period: defaultdict[str, Sums] = defaultdict(Sums)
        self.all = Sums()

    def add(self, period: str, row: Any) -> None:
        self.by_period[period].add(row)
        self.all.add(row)

    def amounts(self) -> dict[str, Decimal | None]:
        """Effective cost of every period."""
        return {
            label: self.by_period[label].cost("effective_cost") if label in self.by_period else ZERO
            for label in self.periods
        }


def _row(
    kind: str, currency: str, line: str | None, named: dict[str, str], cells: _Cells, dimensions: tuple[str, ...]
) -> Row:
    return {
        "row": kind,
        "billing_currency": currency,
        "statement_line": line,
        **{name: named.get(name) for name in dimensions},
        **cells.amounts(),
        **{
            name: cells.all.cost(name)
            for name in ("effective_cost", *(name for name in COSTS if name != "effective_cost"))
        },
        **cells.all.counts(),
    }
