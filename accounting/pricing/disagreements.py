"""Where do two sources state different prices for the same requests? Class by class, over the time in which both hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from accounting.pricing.chains import min_input
from accounting.pricing.layering import HeldRow, Model, meaning
from accounting.pricing.names import Names
from accounting.pricing.tariff import Tariff

_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Disagreement:
    """One class of one row, stated otherwise elsewhere.

    Attributes:
        row, other: the newcomer and the row that it contradicts.
        other_source: short name of the source of the other.
        price, other_price: in `Tariff` units.
        holds_from, holds_until: when both are said to hold; None: no bound.
    """

    row: Tariff
    other: Tariff
    other_source: str
    token_class: str
    price: int
    other_price: int
    holds_from: datetime | None
    holds_until: datetime | None


class OtherSources:
    """The rows that newcomers are compared with, by what the first source calls their models.

    Args:
        held: rows that are stated or proposed, of any source.
        known: the names of the first source.
    """

    def __init__(self, held: Iterable[HeldRow], known: Names, names: Mapping[Model, Sequence[str]]) -> None:
        self._known = known
        self._names = names
        self._rows: dict[tuple[str, str, str, str | None, str | None], list[HeldRow]] = {}
        for one in held:
            self._rows.setdefault(self._place(one.tariff), []).append(one)

    def disagree(self, row: Tariff, list_source: str) -> list[Disagreement]:
        """What other sources state otherwise. A class that only one of the two states by itself is no disagreement."""
        found: list[Disagreement] = []
        others = [
            one
            for one in self._rows.get(self._place(row), [])
            if one.list_source != list_source and _comparable(row, one.tariff)
        ]
        for one in others:
            low, high = _overlap(row, one.tariff)
            if low < high and not any(_shadows(other, one, low, high) for other in others):
                found += _differences(row, one, low, high)
        return found

    def _place(self, row: Tariff) -> tuple[str, str, str, str | None, str | None]:
        names = self._names.get((row.seller, row.model), ())
        model = meaning(self._known, row.seller, row.model, names) or row.model
        return (row.seller, model, row.service_tier, row.surface, row.region)


def _comparable(row: Tariff, other: Tariff) -> bool:
    """Whether the other row may be what a request just above the row's threshold costs at the other source."""
    hours = (row.window_start, row.window_end) == (other.window_start, other.window_end)
    return hours and row.decided_by == other.decided_by and min_input(other) <= min_input(row)


def _shadows(other: HeldRow, one: HeldRow, low: datetime, high: datetime) -> bool:
    """Whether a higher threshold of the same source is reached first, all the time from `low` to `high`."""
    same = (other.list_source, other.tariff.model) == (one.list_source, one.tariff.model)
    row = other.tariff
    all_the_time = (row.effective_from or _EARLIEST) <= low and high <= (row.effective_until or _LATEST)
    return same and min_input(row) > min_input(one.tariff) and all_the_time


def _overlap(row: Tariff, other: Tariff) -> tuple[datetime, datetime]:
    return (
        max(row.effective_from or _EARLIEST, other.effective_from or _EARLIEST),
        min(row.effective_until or _LATEST, other.effective_until or _LATEST),
    )


def _differences(row: Tariff, one: HeldRow, low: datetime, high: datetime) -> list[Disagreement]:
    other = one.tariff
    if row.currency != other.currency:
        return []
    return [
        Disagreement(
            row,
            other,
            one.list_source,
            token_class,
            price,
            other.prices[token_class],
            None if low == _EARLIEST else low,
            None if high == _LATEST else high,
        )
        for token_class, price in row.prices.items()
        if other.prices.get(token_class, price) != price
    ]
