"""Which rollup answers a question: the reporting days where the period is made of them, else the quarter hours?"""

from __future__ import annotations

from datetime import datetime

from accounting.reports.query import ReportQuery, day_start
from accounting.tenant import TenantContext


def rollup(query: ReportQuery, context: TenantContext) -> str:
    """`rollup_day` for whole days of the tenant's reporting zone, else `rollup_15m`; both hold the same sums.

    A day's bucket is its noon, so `bucket >= since AND bucket < until` chooses whole days in either.
    """
    whole = all(_starts_a_day(instant, query) for instant in (query.since, query.until))
    return "rollup_day" if query.tz == context.reporting_tz and whole else "rollup_15m"


def _starts_a_day(instant: datetime, query: ReportQuery) -> bool:
    # Not every midnight does: where clocks go back at one o'clock, the second one is an hour into its day.
    return day_start(instant.astimezone(query.zone).date(), query.zone) == instant
