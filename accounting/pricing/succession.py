"""What does a new reading of a source change? Rows that begin, rows that end, rows that were never right.

A source that states prices without dates is read as of a day: a price holds from the day of the first table that states it until
that of the first which states another one or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from accounting.errors import Conflict
from accounting.pricing.layering import Series, series_of
from accounting.pricing.tariff import Tariff


@dataclass
class Succession:
    """What is to be recorded of one reading.

    Attributes:
        new: rows that begin, with their dates.
        ended: rows known before, with their new end.
        withdrawn: rows known before that hold at no moment any more: stated otherwise for the same start.
        unchanged: number of rows stated as they were.
    """

    new: list[Tariff] = field(default_factory=list)
    ended: list[Tariff] = field(default_factory=list)
    withdrawn: list[Tariff] = field(default_factory=list)
    unchanged: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of rows, for a person to read."""
        return {
            "new": len(self.new),
            "ended": len(self.ended),
            "withdrawn": len(self.withdrawn),
            "unchanged": self.unchanged,
        }


def succeed(known: Iterable[Tariff], stated: Sequence[Tariff], as_of: datetime, whole: bool) -> Succession:
    """Compares what a source states with the rows of it that are known.

    Args:
        known: rows of this source that are not withdrawn, with their ends.
        stated: rows as read; one without `effective_from` holds from `as_of` on.
        whole: whether the source states all its prices each time, so that a row it leaves out ends at `as_of`.

    Raises Conflict for a row that would overlap one that begins later, and for two rows for the same requests.
    """
    series: dict[Series, list[Tariff]] = {}
    for row in sorted(known, key=_start_order):
        series.setdefault(series_of(row), []).append(row)
    found, seen = Succession(), set()
    for read in stated:
        row = read if read.effective_from is not None else replace(read, effective_from=as_of)
        if (series_of(row), row.effective_from) in seen:
            raise Conflict(f"{name(row)}: stands more than once in what was read")
        seen.add((series_of(row), row.effective_from))
        _place(row, series.get(series_of(row), []), found, dated=read.effective_from is not None)
    if whole:
        named = {one for one, _ in seen}
        for open_row in (row for one, rows in series.items() if one not in named for row in rows):
            if open_row.effective_until is None:
                _end(open_row, as_of, found)
    return found


def same_price(row: Tariff, other: Tariff) -> bool:
    """Whether two rows for the same requests charge the same."""
    return (row.prices, row.fallbacks, row.currency) == (other.prices, other.fallbacks, other.currency)


def name(row: Tariff) -> str:
    """A row in an error message."""
    above = f" above {row.above_input_tokens}" if row.above_input_tokens else ""
    return f"{row.seller}/{row.model} {row.service_tier}{above} from {row.effective_from}"


def _place(row: Tariff, series: Sequence[Tariff], found: Succession, dated: bool) -> None:
    start = row.effective_from
    assert start is not None
    for other in series:
        begins, ends = other.effective_from, other.effective_until
        if begins is not None and begins > start:
            if row.effective_until is None or row.effective_until > begins:
                raise Conflict(f"{name(row)}: overlaps {name(other)}; state its effective_until, or withdraw the other")
        elif ends is None or ends > start:
            if same_price(row, other) and (not dated or begins == start) and ends == row.effective_until:
                found.unchanged += 1
                return
            if begins == start and same_price(row, other):
                found.ended.append(replace(other, effective_until=row.effective_until))
                return
            _end(other, start, found)
    found.new.append(row)


def _end(row: Tariff, at: datetime, found: Succession) -> None:
    if row.effective_from is not None and row.effective_from >= at:
        found.withdrawn.append(row)
    else:
        found.ended.append(replace(row, effective_until=at))


def _start_order(row: Tariff) -> tuple[bool, float]:
    return (row.effective_from is not None, 0.0 if row.effective_from is None else row.effective_from.timestamp())
