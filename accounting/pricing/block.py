"""Where does each event stand while it is rated?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Ints
from accounting.usage.classes import USAGE_COLUMNS

MAX_COUNT = 1 << 50
"""No count of one event may be larger; sums of all columns of an event then stay far below an int64's end."""


class Answer:
    """Columns of the answer for all n events, filled block by block; see `rate.Rated`."""

    def __init__(self, size: int) -> None:
        self.sku_index = np.empty(size, np.int32)
        self.sku_price_id = np.empty(size, np.int64)
        self.cost = np.empty(size, np.int64)
        self.reason = np.zeros(size, np.uint8)
        self.seller = np.empty(size, np.int32)
        self.currency = np.zeros(size, np.int8)


class Buffers:
    """Memory that every block writes anew, so that it stays in a core's cache."""

    def __init__(self, size: int) -> None:
        self.code = np.empty(size, np.int32)
        self.group = np.empty(size, np.int32)
        self.position = np.empty(size, np.int64)
        self.scratch = np.empty(size, np.int64)
        self.flags = np.empty(size, np.bool_)
        self.traits = np.empty(size, np.uint8)


class Block:
    """State of one block of events while it is rated.

    Attributes:
        rows: which rows of the input and of the answer these are.
        counts: usage columns in which any event has a count, in the order of USAGE_COLUMNS; impossible counts taken out.
        largest: the largest count of each.
        impossible: events whose counts were taken out, with the reason to refuse them for.
        position: int64, place of each event in the book.
        code, group, scratch, flags, traits: buffers; `traits` are rare features of the position (marginal.py) once known.
        cost, reason, seller: views of the answer.
    """

    def __init__(
        self, book: PriceBook, quantities: Mapping[str, Ints], rows: slice, buffers: Buffers, answer: Answer
    ) -> None:
        self.book = book
        self.rows = rows
        self.size = size = rows.stop - rows.start
        self.code, self.group = buffers.code[:size], buffers.group[:size]
        self.position, self.scratch = buffers.position[:size], buffers.scratch[:size]
        self.flags, self.traits = buffers.flags[:size], buffers.traits[:size]
        self.cost, self.reason, self.seller = answer.cost[rows], answer.reason[rows], answer.seller[rows]
        self._places: dict[str, Ints] = {}
        self._featured: dict[int, Ints] = {}
        self.counts: dict[str, Ints] = {}
        self.largest: dict[str, int] = {}
        self.impossible: list[tuple[Ints, int]] = []
        for name in USAGE_COLUMNS:
            if name in quantities:
                column = quantities[name][rows]
                # A negative count shows as a huge one: one pass over a column finds both kinds of impossible counts.
                largest = int(np.maximum.reduce(column.view(np.uint64)))
                if largest:
                    self.counts[name], self.largest[name] = column, largest
        if max(self.largest.values(), default=0) > MAX_COUNT:
            self._take_out_impossible_counts()

    def where(self, name: str) -> Ints:
        """Events with a count in a column."""
        if name not in self._places:
            np.not_equal(self.counts[name], 0, out=self.flags)
            (self._places[name],) = self.flags.nonzero()
        return self._places[name]

    def with_trait(self, trait: int) -> Ints:
        """Events whose position has a rare feature."""
        if trait not in self._featured:
            np.bitwise_and(self.traits, trait, out=self.flags.view(np.uint8))
            (self._featured[trait],) = self.flags.nonzero()
        return self._featured[trait]

    def refuse(self, events: Ints, reason: int | Ints) -> None:
        """Gives events a reason where they have none yet."""
        if events.size:
            known = self.reason[events]
            self.reason[events] = np.where(known == reasons.PRICED, reason, known)

    def _take_out_impossible_counts(self) -> None:
        """Works on as if events with negative or absurd counts had none, so that no later sum can wrap; they are refused later."""
        negative, absurd = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for column in self.counts.values():
            negative |= column < 0
            absurd |= column > MAX_COUNT
        self.impossible = [(negative.nonzero()[0], reasons.INCONSISTENT), (absurd.nonzero()[0], reasons.OVER_LIMIT)]
        self.counts = {name: np.where(negative | absurd, 0, column) for name, column in self.counts.items()}
        self.largest = {name: int(column.max(initial=0)) for name, column in self.counts.items()}
