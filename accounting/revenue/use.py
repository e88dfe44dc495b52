"""How much is earned by use beyond an allowance? Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from accounting.errors import InvalidInput
from accounting.months import month_after
from accounting.revenue.recognition import rounded

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


Dated = Sequence[tuple[date, Allowance | None]]
"""(day from which it holds, allowance of one seat) by day; None: from then on nothing is metered."""


@dataclass(frozen=True)
class Metered:
    """One subscription on a plan that meters use.

    Attributes:
        name: key of the subscription.
        opened, ends_on: the days that are paid for, half-open; ends_on None: still running.
        dated: what the plan includes for one seat, and from when on.
        quantity: seats; each has the whole allowance.
    """

    name: str
    plan: str
    opened: date
    ends_on: date | None
    dated: Dated
    quantity: int = 1

    def runs(self, day: date) -> bool:
        """Whether a day is one of its days."""
        return self.opened <= day and (self.ends_on is None or day < self.ends_on)

    def allowance(self, month: date) -> Allowance | None:
        """What holds in the calendar month that begins on a day: what was in force on the subscription's first day in it."""
        first = max(month, self.opened)
        fitting = [allowance for day, allowance in self.dated if day <= first]
        return fitting[-1] if fitting else None


def overages(found: Iterable[Metered], usage: Mapping[str, Usage], start: date, end: date) -> dict[str, int]:
    """Revenue of the days [start, end) for one user's use beyond what its subscriptions include; minor units by subscription.

    A unit is charged once, however many subscriptions run: a day's use counts for the metered plan that was begun last. On that plan it
    draws first on what the subscriptions include in the month, the one begun first before the others; what lies beyond all of them is
    charged by the one begun first. A day earns what its month's running total gained, so a month earns its overage exactly, however
    it is cut.

    Args:
        found: every one that runs between the first of start's month and the end.
        usage: unit -> units by day, from the first of start's month on.
    """
    if end < start:
        raise InvalidInput("end", end.isoformat(), f"is before the start {start.isoformat()}")
    queue = sorted(found, key=lambda one: (one.opened, one.name))
    total: defaultdict[str, int] = defaultdict(int)
    month = start.replace(day=1)
    while month < end:
        following = month_after(month)
        _month(queue, usage, month, max(month, start), min(end, following), total)
        month = following
    return dict(total)


def _month(
    queue: Sequence[Metered],
    usage: Mapping[str, Usage],
    month: date,
    start: date,
    end: date,
    total: defaultdict[str, int],
) -> None:
    allowed = {one.name: allowance for one in queue if (allowance := one.allowance(month)) is not None}
    left = {one.name: allowed[one.name].included_units * one.quantity for one in queue if one.name in allowed}
    beyond: defaultdict[str, int] = defaultdict(int)
    before: dict[str, int] = {}
    days = {day for units in usage.values() for day in units if month <= day < end}
    for day in sorted({*days, start}):
        if day == start:
            before = dict(beyond)
        running = [one for one in queue if one.name in allowed and one.runs(day)]
        if not running:
            continue
        unit = allowed[running[-1].name].unit
        own = [one for one in running if one.plan == running[-1].plan and allowed[one.name].unit == unit]
        used = usage.get(unit, {}).get(day, 0)
        for one in own:
            part = min(used, left[one.name])
            left[one.name] -= part
            used -= part
        beyond[own[0].name] += used
    for name, units in beyond.items():
        price, per = allowed[name].unit_price, allowed[name].unit_per
        total[name] += rounded(units * price, per) - rounded(before.get(name, 0) * price, per)
