"""Where is a period cut into local months or days, and where a policy changes within it?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from accounting.errors import InvalidInput
from accounting.reports.query import BUCKET, ReportQuery, day_start, zone

Grain = Literal["month", "day"]


@dataclass(frozen=True)
class Slice:
    """A part of a period within one month or day, under one policy. It ends where the next begins.

    Attributes:
        start: UTC. day: local day of the start. label: 2026-02 or 2026-02-01.
        policy_day: reporting day of the start, which decides the policy.
    """

    start: datetime
    day: date
    label: str
    policy_day: date


def slices(
    query: ReportQuery, grain: Grain, policy_starts: Iterable[date] = (), reporting_tz: str | None = None
) -> list[Slice]:
    """The period's parts in order, the first at its start. `policy_starts` cut further: days of `reporting_tz`, whatever zone is asked
    in (None: the query's), so that a report in another zone puts each cost on the same line.

    Computed here and not in SQL, so that days are those of one zone database. Raises InvalidInput where a local day does not
    begin on a 15-minute boundary of UTC (some zones before 1972).
    """
    reporting = query.zone if reporting_tz is None else zone(reporting_tz)
    days = query.days()
    # A day of another zone that begins within the period is at most one before its first or after its last.
    near = {days[0] - timedelta(days=1), *days, days[-1] + timedelta(days=1)}
    cuts = {query.since, *(day_start(day, reporting) for day in near.intersection(policy_starts))}
    for day in days:
        if grain == "day" or day.day == 1:
            cuts.add(day_start(day, query.zone))
    found = [instant for instant in sorted(cuts) if query.since <= instant < query.until]
    for instant in found:
        if (instant - datetime(2000, 1, 1, tzinfo=UTC)) % BUCKET:
            raise InvalidInput("tz", query.tz, f"a day begins at {instant}, not on a 15-minute boundary of UTC")
    return [_slice(instant, query, grain, reporting) for instant in found]


def labels(parts: Iterable[Slice]) -> list[str]:
    """Months or days of the parts, once each, in order."""
    return list(dict.fromkeys(part.label for part in parts))


def _slice(instant: datetime, query: ReportQuery, grain: Grain, reporting: ZoneInfo) -> Slice:
    day = instant.astimezone(query.zone).date()
    label = day.isoformat() if grain == "day" else day.isoformat()[:7]
    return Slice(instant, day, label, instant.astimezone(reporting).date())
