"""How do price rows lie in arrays, so that whole columns of events can be looked up in them?

A *position* is one price row in its place: a chain (base row, then rows of rising thresholds) takes consecutive positions, so that
base position + number of thresholds reached is the row. The first positions stand for the match reasons of reasons.py and have
price 0; the last ones are placeholders that the window of the day resolves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accounting.pricing import reasons
from accounting.pricing.chains import EVER, Chain, Span, min_input
from accounting.pricing.tariff import DECIDED_BY, Tariff
from accounting.usage.classes import PRICED_CLASSES

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
DAY_US = 86_400_000_000
BLOCK_BITS = 33
"""Time is looked up in blocks of 2^33 microseconds, about 2.4 hours."""


@dataclass(frozen=True)
class Windows:
    """One placeholder: ascending starts in microseconds of the day, and the base position that holds from each."""

    starts: Ints
    positions: Ints


@dataclass(frozen=True)
class Positions:
    """Everything looked up by position.

    Attributes:
        row_at: row number, -1 where there is none.
        thresholds: for the first, second, ... threshold: number of deciding tokens from which the next position counts, by base
            position; NEVER: none.
        decider: by base position, the place in DECIDED_BY of the tokens that decide; 0: total input.
        least_threshold: the least of all thresholds of total input; NEVER: there are none.
        first_window, windows: placeholders, from this position on.
        chain_at, window_at: base position of a chain; placeholder of a day's windows.
    """

    row_at: npt.NDArray[np.int32]
    thresholds: tuple[Ints, ...]
    decider: npt.NDArray[np.int8]
    least_threshold: int
    first_window: int
    windows: tuple[Windows, ...]
    chain_at: dict[Chain, int]
    window_at: dict[tuple[tuple[int, Chain], ...], int]

    def of(self, span: Span) -> int:
        """Base position or placeholder of a span."""
        return self.window_at[span.windows] if len(span.windows) > 1 else self.chain_at[span.windows[0][1]]


@dataclass(frozen=True)
class Calendar:
    """Bins of time between the instants at which any price changes.

    Attributes:
        borders: those instants, microseconds since the epoch, ascending. Bin = number of borders at or before an instant.
        first_block: block of the first entry of `bins`.
        bins: bin of each block, -1 where a border lies inside; blocks before and after count as the first and last entry.
    """

    borders: Ints
    first_block: int
    bins: npt.NDArray[np.int32]

    def bin_of(self, instants: Ints, scratch: Ints, out: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Bins of instants (microseconds since the epoch), written to `out`; `scratch` is a buffer."""
        np.right_shift(instants, BLOCK_BITS, out=scratch)
        np.subtract(scratch, self.first_block, out=scratch)
        self.bins.take(scratch, out=out, mode="clip")
        if np.minimum.reduce(out) < 0:
            (inside,) = (out < 0).nonzero()
            out[inside] = np.searchsorted(self.borders, instants[inside], side="right")
        return out


def lay_out(rows: Sequence[Tariff], spans: Iterable[Span]) -> Positions:
    """Gives every chain and every set of windows its positions."""
    spans = list(spans)
    chain_at: dict[Chain, int] = {(): reasons.NO_PRICE_IN_FORCE}
    row_at = [-1] * reasons.MATCH_REASONS
    for chain in (chain for span in spans for _, chain in span.windows):
        if chain not in chain_at:
            chain_at[chain] = len(row_at)
            row_at += chain
    thresholds = np.full((max(map(len, chain_at)) - 1 if rows else 0, len(row_at)), NEVER)
    decider = np.zeros(len(row_at), np.int8)
    for chain, at in chain_at.items():
        for level, number in enumerate(chain[1:]):
            thresholds[level, at] = min_input(rows[number])
            decider[at] = DECIDED_BY.index(rows[number].decided_by)
    split = sorted({span.windows for span in spans if len(span.windows) > 1})
    windows = [
        Windows(np.array([start for start, _ in day]), np.array([chain_at[chain] for _, chain in day])) for day in split
    ]
    window_at = {day: len(row_at) + at for at, day in enumerate(split)}
    least = int(thresholds[:, decider == 0].min(initial=NEVER))
    return Positions(
        np.array(row_at, np.int32), tuple(thresholds), decider, least, len(row_at), tuple(windows), chain_at, window_at
    )


def lay_out_prices(rows: Sequence[Tariff], row_at: npt.NDArray[np.int32]) -> tuple[dict[str, Ints], dict[str, Flags]]:
    """Class -> price by position with fallbacks resolved (0 for none), and class -> whether a quantity can't be priced."""
    # By row, and one line more for positions without a row, where nothing is missing.
    price = {name: np.zeros(len(rows) + 1, np.int64) for name in PRICED_CLASSES}
    missing = {name: np.append(np.ones(len(rows), np.bool_), False) for name in PRICED_CLASSES}
    for number, row in enumerate(rows):
        for name in (*row.prices, *row.fallbacks):
            price[name][number] = row.prices[row.fallbacks.get(name, name)]
            missing[name][number] = False
    return {name: of[row_at] for name, of in price.items()}, {name: of[row_at] for name, of in missing.items()}


def calendar(spans: Iterable[Span]) -> Calendar:
    """The calendar of all instants at which a span starts or ends."""
    borders = np.array(sorted({b for span in spans for b in (span.start, span.end) if abs(b) < EVER}), np.int64)
    if not borders.size:
        return Calendar(borders, 0, np.zeros(1, np.int32))
    first, last = int(borders[0] >> BLOCK_BITS) - 1, int(borders[-1] >> BLOCK_BITS) + 1
    starts = np.arange(first, last + 1, dtype=np.int64) << BLOCK_BITS
    bins = np.searchsorted(borders, starts, side="right").astype(np.int32)
    inside = (borders >> BLOCK_BITS) - first
    bins[inside[borders != starts[inside]]] = -1
    return Calendar(borders, first, bins)
