"""Which reporting days is a period made of, for reports whose costs are kept by user and day?"""

from __future__ import annotations

from datetime import date, datetime

from accounting.errors import InvalidInput
from accounting.reports.query import ReportQuery, day_start
from accounting.tenant import TenantContext


def period_days(query: ReportQuery, context: TenantContext) -> tuple[date, date]:
    """First day and first day after. Raises InvalidInput in another zone than the tenant's, or where an end is within a day."""
    if query.tz != context.reporting_tz:
        reason = (
            f"costs by user are kept by days of the tenant's reporting zone {context.reporting_tz}; ask in that zone"
        )
        raise InvalidInput("tz", query.tz, reason)
    return _day("from", query.start, query.since, query), _day("to", query.end, query.until, query)


def _day(field: str, asked: date | datetime, instant: datetime, query: ReportQuery) -> date:
    day = instant.astimezone(query.zone).date()
    if day_start(day, query.zone) != instant:
        raise InvalidInput(field, asked.isoformat(), f"is not the start of a day in {query.tz}")
    return day
