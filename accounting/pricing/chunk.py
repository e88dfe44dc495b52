"""Where does each event of one chunk stand? The state that the inner loop of rating (inner.py) works on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Ints
from accounting.usage.classes import USAGE_COLUMNS


class Columns:
    """Columns of the answer, filled chunk by chunk; see `rate.Rated`."""

    def __init__(self, count: int) -> None:
        self.sku_index = np.empty(count, np.int32)
        self.sku_price_id = np.empty(count, np.int64)
        self.list_cost = np.empty(count, np.int64)
        self.reason = np.zeros(count, np.uint8)
        self.seller = np.empty(count, np.int32)
        self.currency = np.zeros(count, np.int8)


class Workspace:
    """Buffers that every chunk writes anew."""

    def __init__(self, size: int) -> None:
        self.group = np.empty(size, np.int64)
        self.position = np.empty(size, np.int64)
        self.scratch = np.empty(size, np.int64)
        self.traits = np.empty(size, np.uint8)


class Chunk:
    """State of one chunk.

    Attributes:
        position: place of each event in the book.
        cost, reason: views of the answer.
        counts: usage columns in which any event has a count; `largest` has the largest count of each.
        scratch, traits: buffers.
    """

    def __init__(
        self, book: PriceBook, quantities: Mapping[str, Ints], rows: slice, workspace: Workspace, out: Columns
    ) -> None:
        self.book = book
        self.size = rows.stop - rows.start
        self.position: Ints = workspace.position[: self.size]
        self.scratch: Ints = workspace.scratch[: self.size]
        self.traits = workspace.traits[: self.size]
        self.cost: Ints = out.list_cost[rows]
        self.reason = out.reason[rows]
        self.counts: dict[str, Ints] = {}
        self.largest: dict[str, int] = {}
        for name in USAGE_COLUMNS:
            if name not in quantities:
                continue
            part = quantities[name][rows]
            largest = int(part.view(np.uint64).max(initial=0))  # A negative count shows as a huge one.
            if largest:
                self.counts[name], self.largest[name] = part, largest

    def refuse(self, events: Ints, reason: int) -> None:
        """Gives events a reason where they have none yet."""
        self.reason[events] = np.where(self.reason[events] == reasons.PRICED, np.uint8(reason), self.reason[events])
