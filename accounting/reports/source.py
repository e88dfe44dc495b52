"""Which rollup answers a question: the reporting days where the period is made of them, else the quarter hours?"""

from __future__ import annotations

from datetime import datetime, time

from accounting.reports.query import ReportQuery
from accounting.tenant import TenantContext


def rollup(query: ReportQuery, context: TenantContext) -> str:
    """`rollup_day` for whole days of the tenant's reporting zone, else `rollup_15m`; both hold the same sums.

    A day's bucket is its noon, so `bucket >= since AND bucket < until` chooses whole days in either.
    """
    whole = all(_midnight(instant, query) for instant in (query.since, query.until))
    return "rollup_day" if query.tz == context.reporting_tz and whole else "rollup_15m"


def _midnight(instant: datetime, query: ReportQuery) -> bool:
    return instant.astimezone(query.zone).time() == time(0)
