"""How much of prepaid packs is earned as they are drawn down, given back, and end? Pure.

A refund of a pack takes units back at the pack's price: unused ones first, which were still to be earned; what it gives back beyond them
is contra revenue at once. So earned + still to earn + given back = billed at any time, and a unit that was used stays earned at its price.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

from accounting.errors import InvalidInput
from accounting.revenue.recognition import Line, rounded
from accounting.revenue.use import Usage


def drawn(
    packs: Sequence[Line], usage: Usage, until: date, zone: ZoneInfo, changes: Sequence[Line] = ()
) -> dict[str, int]:
    """Revenue of prepaid packs of one owner and unit, and of what changes their price, before the day `until`; minor units by line_id.

    Use draws on the pack that ends first, then on the one booked first. A pack takes use from the day it was booked to the day before
    it ends. What is left at the end is never earned under `use`, and earned on the last day under `use_and_breakage`.

    Args:
        changes: refunds and discounts that refer to the packs; a discount is earned as its pack is, a refund counts from the end of
            its day on.
    """
    queue = [_Pack(one, [line for line in changes if line.refers_to == one.line_id], zone) for one in packs]
    queue.sort(key=lambda pack: pack.order)
    refunds: defaultdict[date, list[tuple[_Pack, Line]]] = defaultdict(list)
    for pack in queue:
        for day, refund in pack.refunds:
            refunds[day].append((pack, refund))
    for day in sorted(day for day in {*usage, *refunds} if day < until):
        left = usage.get(day, 0)
        for pack in queue:
            if left and pack.open(day):
                left -= pack.take(left)
        for pack, refund in refunds.get(day, ()):
            pack.give_back(refund, day)
    return {line_id: amount for pack in queue for line_id, amount in pack.earned(until)}


class _Pack:
    """One pack as it is drawn down."""

    def __init__(self, line: Line, changes: Iterable[Line], zone: ZoneInfo) -> None:
        if line.units is None:
            raise InvalidInput("units", line.line_id, "a prepaid pack states how many units it holds")
        self.line, self.units, self.zone = line, line.units, zone
        given = list(changes)
        self.discounts = [one for one in given if one.kind != "refund"]
        self.refunds = sorted(
            ((_day(one.booked_at, zone), one) for one in given if one.kind == "refund"), key=_by_moment
        )
        self.booked, self.ends = _day(line.booked_at, zone), None if line.ends_at is None else _day(line.ends_at, zone)
        self.price = line.amount + sum(one.amount for one in self.discounts)
        self.taken = self.unearned_back = 0
        self.contra: dict[str, int] = {}

    @property
    def order(self) -> tuple[bool, datetime, datetime, str]:
        line = self.line
        return (line.ends_at is None, line.ends_at or line.booked_at, line.booked_at, line.line_id)

    def open(self, day: date) -> bool:
        return self.booked <= day and (self.ends is None or day < self.ends)

    def take(self, units: int) -> int:
        """Draws at most so many units and returns how many."""
        part = min(units, self._left())
        self.taken += part
        return part

    def give_back(self, refund: Line, day: date) -> None:
        """Takes a refund of a day off what is still to be earned then, the rest off what was earned."""
        left = 0 if self._over(day) else self.price - self._of_use(self.price) - self.unearned_back
        to_earn = max(left, 0)
        part = min(-refund.amount, to_earn)
        self.unearned_back += part
        self.contra[refund.line_id] = refund.amount + part

    def earned(self, until: date) -> Iterable[tuple[str, int]]:
        """Running total of the pack and of each line that changes its price."""
        over = self._over(until)
        yield self.line.line_id, self.line.amount - self.unearned_back if over else self._of_use(self.line.amount)
        for one in self.discounts:
            known = _day(one.booked_at, self.zone) < until
            yield one.line_id, (one.amount if over else self._of_use(one.amount)) if known else 0
        yield from self.contra.items()

    def _over(self, day: date) -> bool:
        """Whether what was unused is earned: the last day has ended before a day."""
        return self.line.recognition == "use_and_breakage" and self.ends is not None and self.ends <= day

    def _left(self) -> int:
        """Units that are neither taken nor given back; whole ones."""
        if not self.unearned_back:
            return self.units - self.taken
        return max(self.units * (self.price - self.unearned_back) // self.price - self.taken, 0)

    def _of_use(self, amount: int) -> int:
        return rounded(amount * self.taken, self.units)


def _by_moment(dated: tuple[date, Line]) -> tuple[datetime, str]:
    return dated[1].booked_at, dated[1].line_id


def _day(moment: datetime, zone: ZoneInfo) -> date:
    return moment.astimezone(zone).date()
