"""Where does each event stand while it is rated?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Ints
from accounting.pricing.leaves import WHOLE_COLUMNS
from accounting.pricing.memory import empty

COUNT_LIMIT = 1 << 50
"""Counts of one event stay below it; sums of all columns of an event are then far below an int64's end."""

_RARE = 16
_SAMPLE_STEP = 61


class Answer:
    """Columns of the answer for all n events, filled block by block; see `rate.Rated`."""

    def __init__(self, size: int) -> None:
        self.sku_index = empty(size, np.int32)
        self.sku_price_id = empty(size, np.int64)
        self.cost = empty(size, np.int64)
        self.reason = empty(size, np.uint8)
        self.currency = empty(size, np.int8)
        self.reason[:] = 0
        self.currency[:] = 0


class Buffers:
    """Memory that every block writes anew, so that it stays in a core's cache."""

    def __init__(self, size: int) -> None:
        self.code = np.empty(size, np.int32)
        self.bins = np.empty(size, np.int32)
        self.position = np.empty(size, np.int64)
        self.total = np.empty(size, np.int64)
        self.joined = np.empty(size, np.int64)
        self.scratch = np.empty(size, np.int64)
        self.flags = np.empty(size, np.bool_)
        self.traits = np.empty(size, np.uint8)


class Block:
    """State of one block of events while it is rated.

    Most usage columns are empty for most events, so that a block is worked on in two parts: the columns that are `common` in the
    batch for all events, the rare ones only for the `few` events that have a count in any of them.

    Attributes:
        rows: which rows of the input and of the answer these are.
        columns: counts of every column given, in the order of USAGE_COLUMNS; 0 where an impossible count was taken out.
        common: names of the common columns.
        position: int64, place of each event in the book; `traits` are that position's rare features (marginal.py).
        largest: the largest count of each column that has any.
        few: places of events with a count in a rare column; `few_counts`: those columns' counts at these places.
        found: (places of events, reason) noticed on the way, to be refused for in their turn.
        cost, reason: views of the answer.
        code, bins, total, joined, scratch, flags: buffers.
    """

    def __init__(
        self,
        book: PriceBook,
        quantities: Mapping[str, Ints],
        common: Sequence[str],
        rows: slice,
        buffers: Buffers,
        answer: Answer,
    ) -> None:
        self.book = book
        self.rows = rows
        self.size = size = rows.stop - rows.start
        self.columns = {name: column[rows] for name, column in quantities.items()}
        self.common = common
        self.code, self.bins, self.position = buffers.code[:size], buffers.bins[:size], buffers.position[:size]
        self.total, self.joined, self.scratch = buffers.total[:size], buffers.joined[:size], buffers.scratch[:size]
        self.flags, self.traits = buffers.flags[:size], buffers.traits[:size]
        self.cost, self.reason = answer.cost[rows], answer.reason[rows]
        self.largest: dict[str, int] = {}
        self.few: Ints = np.empty(0, np.int64)
        self.few_counts: dict[str, Ints] = {}
        self.found: list[tuple[Ints, int]] = []
        self._featured: dict[int, Ints] = {}

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

    def take_out_impossible_counts(self) -> None:
        """Works on as if events with negative or absurd counts had none, so that no sum can wrap; they are refused later."""
        negative, absurd = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        for column in self.columns.values():
            negative |= column < 0
            absurd |= column >= COUNT_LIMIT
        self.found = [(negative.nonzero()[0], reasons.INCONSISTENT), (absurd.nonzero()[0], reasons.OVER_LIMIT)]
        self.columns = {name: np.where(negative | absurd, 0, column) for name, column in self.columns.items()}


def common_columns(quantities: Mapping[str, Ints]) -> list[str]:
    """Columns of wholes in which more than one event in sixteen has a count, judged by a sample.

    The judgement decides only how a column is worked on, not what comes out.
    """

    def share(column: Ints) -> float:
        sample = column[:: _SAMPLE_STEP if column.size > _SAMPLE_STEP**2 else 1]
        return np.count_nonzero(sample) / max(sample.size, 1)

    return [name for name in WHOLE_COLUMNS if name in quantities and share(quantities[name]) * _RARE > 1]
