"""What did we spend, on any two of time, seller, model, purpose, user and more, for any part of it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from typing import Any

from sqlalchemy import Engine, text

from accounting.errors import InvalidInput
from accounting.reports.base import Column, Footer, Node, Report, Row
from accounting.reports.coverage import Apart, coverage, set_apart
from accounting.reports.exact import ZERO
from accounting.reports.explore_source import DIMENSIONS, TIMES, source
from accounting.reports.explore_sums import ExploreSums
from accounting.reports.query import ReportQuery
from accounting.reports.sums import COSTS, Sums
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAME = "explore"
DESCRIPTION = (
    "Cost by any two of month, day, seller, model, purpose, category, charge_status, user_id, account_id, feature, deployment and basis, "
    "of the part of the usage that filters choose"
)
GROUP_BY = (*TIMES, *DIMENSIONS)
FILTERS = DIMENSIONS
MOST_DIMENSIONS = 2


def explore(engine: Engine, context: TenantContext, query: ReportQuery) -> Report:
    """Costs of a period by at most two of GROUP_BY (default model), of lines that have all of `query.filters` (FILTERS).

    Rows in order of time, where a time is asked for, then by effective cost, the dearest first and unknown last. With `limit` the
    rows left out are one row `remaining`. A dimension that usage does not name is None; a filter with '' chooses it.
    The footer names the table that answered: a rollup, or `ledger`, whose time follows the number of events.

    Raises InvalidInput for other dimensions, or more of them.
    """
    query.check_group_by(GROUP_BY)
    query.check_filters(FILTERS)
    names = query.group_by or ("model",)
    if len(names) > MOST_DIMENSIONS or set(TIMES) <= set(names):
        raise InvalidInput("group_by", ",".join(names), "at most two names are expected, not both month and day")
    chosen = source(query, context, {*names, *(name for name, _ in query.filters)})
    days = query.days()
    with read_only(engine, context.tenant) as connection:
        connection.execute(text("SET LOCAL work_mem = '64MB'"))
        asked = ExploreSums(connection, context, query, chosen, days)
        found, converter = asked.sums(names)
        # What has no tokens has no dimensions either: it is told only where nothing is filtered.
        waiting = Apart() if query.filters else set_apart(connection, context, query.since, query.until)
    labelled = [(tuple(_label(row, name, days) for name in names), row) for row in found]
    own = {query.currency} if query.currency else {context.billing_currency, *(row.billing_currency for row in found)}
    outline = [
        _total(currency, names, [pair for pair in labelled if pair[1].billing_currency == currency], query.limit)
        for currency in sorted(currency for currency in own if currency)
    ]
    feet = [
        Footer("answered_by_" + chosen.name, node.row["effective_cost"] or ZERO, node.row["billing_currency"], _NOTE)
        for node in outline
    ]
    if converter is not None:
        feet += converter.footer("effective_cost", outline[0].row["effective_cost"] or ZERO)
    conversions = [] if converter is None else converter.conversions()
    return Report(NAME, query, _columns(names), tuple(outline), coverage(found, waiting), feet, conversions)


_NOTE = "effective cost of all rows; the table that it was summed from"


def _label(row: Any, name: str, days: Sequence[date]) -> str | None:
    if name in TIMES:
        day: str = days[row.day_no - 1].isoformat()
        return day if name == "day" else day[:7]
    value = str(getattr(row, name))
    return value or None


def _total(
    currency: str, names: Sequence[str], found: Sequence[tuple[tuple[str | None, ...], Any]], limit: int | None
) -> Node:
    cells: defaultdict[tuple[str | None, ...], Sums] = defaultdict(Sums)
    every = Sums()
    for key, row in found:
        cells[key].add(row)
        every.add(row)
    place = next((number for number, name in enumerate(names) if name in TIMES), None)
    keys = sorted(cells, key=lambda key: _order(key, cells[key], place))
    shown, left = keys[:limit], keys[len(keys[:limit]) :]
    rows = [Node(_row("detail", currency, dict(zip(names, key, strict=True)), cells[key], names)) for key in shown]
    if left:
        rest = Sums()
        for key in left:
            rest.merge(cells[key])
        rows.append(Node(_row("remaining", currency, {}, rest, names)))
    return Node(_row("total", currency, {}, every, names), tuple(rows))


def _order(key: tuple[str | None, ...], sums: Sums, place: int | None) -> tuple[Any, ...]:
    cost = sums.cost("effective_cost")
    time = "" if place is None else key[place] or ""
    return (time, cost is None, -(cost or ZERO), *(part or "" for part in key))


def _row(kind: str, currency: str, named: dict[str, str | None], sums: Sums, names: Sequence[str]) -> Row:
    return {
        "row": kind,
        "billing_currency": currency,
        **{name: named.get(name) for name in names},
        **{name: sums.cost(name) for name in ("effective_cost", *(one for one in COSTS if one != "effective_cost"))},
        **sums.counts(),
    }


def _columns(names: Sequence[str]) -> tuple[Column, ...]:
    return (
        Column("row", "text", table=False),
        Column("billing_currency", "text"),
        *(Column(name, "text") for name in names),
        Column("effective_cost", "money"),
        *(Column(name, "money", table=False) for name in COSTS if name != "effective_cost"),
        *(
            Column(name, "count", table=name == "events")
            for name in ("events", "unpriced_events", "pending_events", "tokens")
        ),
    )
