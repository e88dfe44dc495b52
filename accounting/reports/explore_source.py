"""Which table answers a question of some dimensions: a rollup where one has them all, else the ledger line by line?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from accounting.reports.period_days import period_days
from accounting.reports.query import ReportQuery
from accounting.reports.source import rollup
from accounting.tenant import TenantContext

TIMES = ("month", "day")
_SHARED = ("purpose", "category", "charge_status")
_BY_MODEL = {"seller", "model", *_SHARED}
_BY_USER = {"user_id", "account_id", *_SHARED}
LINE_DIMENSIONS = ("feature", "deployment", "basis")
"""Of ledger lines alone; no rollup has them."""
DIMENSIONS = ("seller", "model", *_SHARED, "user_id", "account_id", *LINE_DIMENSIONS)


@dataclass(frozen=True)
class Source:
    """Where to read.

    Attributes:
        name: table or view.
        period: SQL that holds for lines of the period.
        day_number: SQL of the number, from 1, of a line's day in the report; the parameter `starts` has the days' first instants.
        parameters: what `period` and `day_number` need, beside `starts`.
    """

    name: str
    period: str
    day_number: str
    parameters: dict[str, Any]


def source(query: ReportQuery, context: TenantContext, names: Collection[str]) -> Source:
    """The cheapest table that has all `names`; times are everywhere.

    Raises InvalidInput where only the rollup by user would do and the period is not of the tenant's reporting days.
    """
    wanted = {name for name in names if name not in TIMES}
    moments = {"since": query.since, "until": query.until}
    if wanted <= _BY_MODEL:
        return Source(rollup(query, context), "bucket >= :since AND bucket < :until", _number("bucket"), moments)
    if wanted <= _BY_USER and query.tz == context.reporting_tz:
        first, until = period_days(query, context)
        return Source(
            "rollup_user_day",
            "day >= :first AND day < :last",
            "(day - CAST(:first AS date) + 1)",
            {"first": first, "last": until},
        )
    return Source("ledger", "occurred_at >= :since AND occurred_at < :until", _number("occurred_at"), moments)


def _number(column: str) -> str:
    # The array is read once, in a subquery, as its cast from text would be made for every row.
    return f"width_bucket({column}, (SELECT :starts))"
