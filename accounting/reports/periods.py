"""Which periods would a person ask for: months and quarters that have usage, and the days around today?"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, text

from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

MOST_MONTHS = 24
_SPAN = text("SELECT min(bucket) AS first, max(bucket) AS last FROM rollup_day WHERE tenant = :tenant")
# Of the newest day alone: all days would be a scan of the table.
_CONVERTIBLE = text(
    "SELECT DISTINCT currency FROM fx_rates WHERE rate_date = (SELECT max(rate_date) FROM fx_rates) ORDER BY 1"
)
_CURRENCIES = text("SELECT DISTINCT billing_currency FROM rollup_day WHERE tenant = :tenant ORDER BY 1")


def known(engine: Engine, context: TenantContext, now: datetime | None = None) -> dict[str, Any]:
    """What there is of a tenant.

    Returns today, first_day, last_day (reporting days, ISO; the last two None without usage), billing_currencies of booked usage,
    convertible (currencies with a rate on the newest day of the table of rates; EUR is what they are stated in), and periods
    [{name, label, start, end}], see `periods`.
    """
    zone = ZoneInfo(context.reporting_tz)
    with read_only(engine, context.tenant) as connection:
        span = connection.execute(_SPAN, {"tenant": context.tenant}).one()
        currencies = connection.execute(_CURRENCIES, {"tenant": context.tenant}).scalars().all()
        convertible = connection.execute(_CONVERTIBLE).scalars().all()
    # A day's bucket is its noon.
    first, last = (None if at is None else at.astimezone(zone).date() for at in span)
    today = (now or datetime.now(UTC)).astimezone(zone).date()
    return {
        "today": today.isoformat(),
        "first_day": None if first is None else first.isoformat(),
        "last_day": None if last is None else last.isoformat(),
        "billing_currencies": list(currencies),
        "convertible": sorted({"EUR", *convertible}) if convertible else [],
        "periods": periods(first, last, today),
    }


def periods(first: date | None, last: date | None, today: date) -> list[dict[str, str]]:
    """Named periods [start, end), the one to show first first.

    Months with usage from the newest back, 24 at most (where there is none, this month); quarters with usage, two at most; the last 7, 30
    and 90 days up to yesterday; the year to date. A future month, as of events sent ahead, is left out.
    """
    newest = month_of(min(last or today, today))
    oldest = month_of(min(first or today, newest))
    found: list[dict[str, str]] = []
    month = newest
    while month >= oldest and len(found) < MOST_MONTHS:
        found.append(_period(f"{month:%Y-%m}", f"{month:%B %Y}", month, after(month)))
        month = before(month)
    quarter = date(newest.year, newest.month - (newest.month - 1) % 3, 1)
    for _ in range(2):
        end = after(after(after(quarter)))
        if end > oldest:
            name = f"{quarter.year}-Q{(quarter.month + 2) // 3}"
            found.append(_period(name, f"Quarter {name}", quarter, end))
        quarter = before(before(before(quarter)))
    for days in (7, 30, 90):
        found.append(_period(f"last-{days}-days", f"Last {days} days", today - timedelta(days=days), today))
    found.append(_period("year-to-date", f"{today.year} to date", date(today.year, 1, 1), today + timedelta(days=1)))
    return found


def month_of(day: date) -> date:
    """First day of its month."""
    return day.replace(day=1)


def after(month: date) -> date:
    """First day of the month after."""
    return (month + timedelta(days=31)).replace(day=1)


def before(month: date) -> date:
    """First day of the month before."""
    return (month - timedelta(days=1)).replace(day=1)


def _period(name: str, label: str, start: date, end: date) -> dict[str, str]:
    return {"name": name, "label": label, "start": start.isoformat(), "end": end.isoformat()}
