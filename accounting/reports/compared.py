"""Which days of a running period are complete, and with which days of the period before are they compared? Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from accounting.reports.periods import after, before

Days = tuple[date, date]
"""[first day, first day after)."""


@dataclass(frozen=True)
class Compared:
    """A period and the days it is compared with.

    Attributes:
        whole: the period as asked.
        to_date: its complete days; None while none is.
        before: as many days of the period before, from its start and not beyond its end; None with `to_date`.
        days, elapsed: of `whole` and of `to_date`.
    """

    whole: Days
    to_date: Days | None
    before: Days | None

    @property
    def days(self) -> int:
        return _length(self.whole)

    @property
    def elapsed(self) -> int:
        return 0 if self.to_date is None else _length(self.to_date)


def compared(first: date, until: date, today: date) -> Compared:
    """How [first, until) is compared on the day `today`, which is not complete itself.

    Where `first` begins a month, the period before is as many months long as this one touches (that of 1 to 15 November begins on
    1 October, that of a quarter a quarter earlier); else as many days. The whole of it where the period is complete.
    """
    end = min(until, today)
    if end <= first:
        return Compared((first, until), None, None)
    if first.day != 1:
        earlier = first - timedelta(days=(until - first).days)
        return Compared((first, until), (first, end), (earlier, min(earlier + (end - first), first)))
    earlier, month = first, first
    while month < until:
        month, earlier = after(month), before(earlier)
    ended = end == until == month
    return Compared((first, until), (first, end), (earlier, first if ended else min(earlier + (end - first), first)))


def _length(days: Days) -> int:
    return (days[1] - days[0]).days
