"""Which period of a volume tier does a day belong to?"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime

from accounting.pricing.contract import Contract, VolumeTier


def period_of(contract: Contract, tier: VolumeTier, moment: datetime) -> str:
    """First UTC day of the period that an instant lies in, as text.

    A contract month begins on the day of the month on which the contract does, or on the last day of a shorter month.
    """
    day = moment.astimezone(UTC).date()
    if tier.period == "calendar_month":
        return day.replace(day=1).isoformat()
    first = contract.effective_from.astimezone(UTC).day
    start = _on(day.year, day.month, first)
    if start > day:
        year, month = (day.year - 1, 12) if day.month == 1 else (day.year, day.month - 1)
        start = _on(year, month, first)
    return start.isoformat()


def _on(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, monthrange(year, month)[1]))
