"""What changes when? The times of all pieces in one order, and what has accumulated up to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accounting.selfhosted.arrays import US_PER_SECOND, Floats, Ints


@dataclass(frozen=True)
class Events:
    """Four events a piece (received, prefill began, first token, end), over stretches laid one after the other.

    Attributes:
        order: [4n] event at each place in time. rank: [4n] place of each event, in the order of the four kinds.
        seconds: [4n] from each place to the next one. middle: microseconds from the start of the stretch to half way.
        cell: [4n] the stretch.
    """

    order: npt.NDArray[np.intp]
    rank: npt.NDArray[np.int32]
    seconds: Floats
    middle: Floats
    cell: Ints

    @property
    def size(self) -> int:
        """4n."""
        return self.order.size

    def rank_of(self, kind: int) -> npt.NDArray[np.int32]:
        """Places of one kind of event: 0 received, 1 began, 2 first, 3 end."""
        count = self.size // 4
        return self.rank[count * kind : count * (kind + 1)]

    def count(self, *changes: npt.NDArray[np.int8] | None) -> npt.NDArray[np.int32]:
        """Running sums of the four kinds' whole changes, valid after each place."""
        return np.cumsum(_joined(changes, self.size // 4, np.int8)[self.order], dtype=np.int32)

    def total(self, *changes: Floats | None) -> Floats:
        """Running sums of the four kinds' changes, valid after each place."""
        found: Floats = _joined(changes, self.size // 4, np.float64)[self.order]
        return np.cumsum(found, out=found)

    def before(self, places: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
        """The places just before these events, and before those of their kind at the same moment: those come in no order."""
        kind = self.order // (self.size // 4)
        begins = np.ones(self.size, np.bool_)
        begins[1:] = (self.seconds[:-1] > 0) | (kind[1:] != kind[:-1]) | (self.cell[1:] != self.cell[:-1])
        return np.maximum.accumulate(np.where(begins, np.arange(self.size), 0))[places] - 1


def line_up(shift: int, cell: Ints, received: Ints, began: Ints, first: Ints, end: Ints) -> Events:
    """Events of pieces whose times lie in [0, 2^shift) microseconds of their stretch."""
    key = cell << shift
    times = np.concatenate([key + received, key + began, key + first, key + end])
    order, times = sort_with_order(times)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    gap = np.zeros(order.size)
    np.subtract(times[1:], times[:-1], out=gap[:-1], casting="unsafe")
    of = times >> shift
    gap[:-1][of[1:] != of[:-1]] = 0.0
    middle = (times & ((1 << shift) - 1)) + gap / 2
    return Events(order, rank, gap / US_PER_SECOND, middle, of)


def sort_with_order(times: Ints) -> tuple[npt.NDArray[np.intp], Ints]:
    """Order and sorted times; equal times in the order given. Sorted as one number where both fit into it, which is quicker."""
    bits = int(times.size).bit_length()
    if int(times.max()).bit_length() + bits > 62:
        order = np.argsort(times, kind="stable")
        return order, times[order]
    both = (times << bits) | np.arange(times.size)
    both.sort()
    return both & ((1 << bits) - 1), both >> bits


def integral(values: Floats) -> Floats:
    """[n + 1] sums of all values before each place."""
    found = np.zeros(values.size + 1)
    np.cumsum(values, out=found[1:])
    return found


def _joined(changes: tuple[npt.NDArray[Any] | None, ...], count: int, kind: type[np.generic]) -> npt.NDArray[Any]:
    found = np.zeros(4 * count, kind)
    for at, one in enumerate(changes):
        if one is not None:
            found[count * at : count * (at + 1)] = one
    return found
