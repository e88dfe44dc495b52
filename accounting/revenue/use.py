"""How much is earned by use: overage beyond an allowance, and prepaid packs as they are drawn down?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from accounting.errors import InvalidInput
from accounting.months import month_after
from accounting.revenue.recognition import Line, rounded

Usage = Mapping[date, int]
"""Reporting day -> units used on it; a day that is not there has none."""


@dataclass(frozen=True)
class Allowance:
    """What a usage-based plan includes each calendar month, and what lies beyond.

    Attributes:
        unit: requests | tokens.
        included_units: free of charge in a calendar month; it does not carry over.
        unit_price: minor units for `unit_per` units beyond.
    """

    unit: str
    included_units: int
    unit_price: int
    unit_per: int


def overage(allowance: Allowance, usage: Usage, start: date, end: date, opened: date | None = None) -> int:
    """Revenue of the days [start, end) for units beyond the month's allowance, minor units.

    A day earns what the month's running total of use gained beyond the allowance, so a month earns its overage exactly. Use before
    `opened` (the first day of the plan; None: from the first of the month) does not count. `usage` must reach back to the first of
    start's month or to `opened`.
    """
    if end < start:
        raise InvalidInput("end", end.isoformat(), f"is before the start {start.isoformat()}")
    total, month = 0, start.replace(day=1)
    while month < end:
        following = month_after(month)
        since = max(month, opened or month)
        total += _charged(allowance, usage, since, min(end, following)) - _charged(
            allowance, usage, since, max(start, since)
        )
        month = following
    return total


def drawn(packs: Sequence[Line], usage: Usage, until: date, zone: ZoneInfo) -> dict[str, int]:
    """Revenue of prepaid packs of one owner and unit before the day `until`, minor units by line_id.

    Use draws on the pack that ends first, then on the one booked first. A pack takes use from the day it was booked to the day before
    it ends. What is left at the end is never earned under `use`, and earned on the last day under `use_and_breakage`.
    """
    queue = sorted(
        packs, key=lambda pack: (pack.ends_at is None, pack.ends_at or pack.booked_at, pack.booked_at, pack.line_id)
    )
    taken = dict.fromkeys((pack.line_id for pack in queue), 0)
    for day in sorted(day for day in usage if day < until):
        left = usage[day]
        for pack in queue:
            if left and _open(pack, day, zone):
                part = min(left, _units(pack) - taken[pack.line_id])
                taken[pack.line_id] += part
                left -= part
    return {pack.line_id: _earned(pack, taken[pack.line_id], until, zone) for pack in queue}


def _charged(allowance: Allowance, usage: Usage, since: date, until: date) -> int:
    used = sum(units for day, units in usage.items() if since <= day < until)
    beyond = used - allowance.included_units if used > allowance.included_units else 0
    return rounded(beyond * allowance.unit_price, allowance.unit_per)


def _earned(pack: Line, taken: int, until: date, zone: ZoneInfo) -> int:
    end = _end(pack, zone)
    if pack.recognition == "use_and_breakage" and end is not None and end <= until:
        return pack.amount
    return rounded(pack.amount * taken, _units(pack))


def _open(pack: Line, day: date, zone: ZoneInfo) -> bool:
    end = _end(pack, zone)
    return pack.booked_at.astimezone(zone).date() <= day and (end is None or day < end)


def _end(pack: Line, zone: ZoneInfo) -> date | None:
    return None if pack.ends_at is None else _day(pack.ends_at, zone)


def _day(moment: datetime, zone: ZoneInfo) -> date:
    return moment.astimezone(zone).date()


def _units(pack: Line) -> int:
    if pack.units is None:
        raise InvalidInput("units", pack.line_id, "a prepaid pack states how many units it holds")
    return pack.units
