"""What lies between the measured points of a batch x context grid? Straight lines; nothing is smoothed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import Bools, Floats


@dataclass(frozen=True)
class Grid:
    """Values over batch and context, linear between neighbours (so monotone between them), the edge's value beyond the edge.

    Attributes:
        batch: [b] ascending.
        context: [s] ascending, tokens.
        values: [b, s].
        measured: [b, s], which of them were; the others only complete the grid. None: all.
    """

    batch: Floats
    context: Floats
    values: Floats
    measured: Bools | None = None

    def __post_init__(self) -> None:
        for name in ("batch", "context"):
            axis = getattr(self, name)
            if axis.ndim != 1 or axis.size < 1 or bool((np.diff(axis) <= 0).any()) or axis[0] <= 0:
                raise InvalidInput(f"grid.{name}", axis.tolist(), "positive numbers in ascending order are expected")
        if self.values.shape != (self.batch.size, self.context.size):
            reason = f"shape {(self.batch.size, self.context.size)} is expected, batch by context"
            raise InvalidInput("grid.values", self.values.shape, reason)
        if not bool((np.isfinite(self.values) & (self.values > 0)).all()):
            raise InvalidInput("grid.values", self.values.tolist(), "positive finite numbers are expected")
        if self.measured is not None:
            if self.measured.shape != self.values.shape:
                raise InvalidInput("grid.measured", self.measured.shape, f"shape {self.values.shape} is expected")
            empty = self.context[~np.any(self.measured, axis=0)]
            if empty.size:
                raise InvalidInput("grid.measured", f"context {empty[0]:g}", "no batch was measured there")

    def at(self, batch: Floats, context: Floats) -> Floats:
        """Values at points of any one shape."""
        low, share = _between(self.batch, batch)
        left, part = _between(self.context, context)
        high, right = np.minimum(low + 1, self.batch.size - 1), np.minimum(left + 1, self.context.size - 1)
        below = self.values[low, left] * (1 - part) + self.values[low, right] * part
        above = self.values[high, left] * (1 - part) + self.values[high, right] * part
        return np.asarray(below * (1 - share) + above * share)

    def batches_at(self, context: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest batch that were measured at each context: at both neighbours of one between two. No batch was where the
        first is above the second."""
        left, part = _between(self.context, context)
        right = np.where(part > 0, np.minimum(left + 1, self.context.size - 1), left)
        left = np.where(part < 1, left, right)
        known = np.ones(self.values.shape, np.bool_) if self.measured is None else self.measured
        low, high = self.batch[known.argmax(axis=0)], self.batch[::-1][known[::-1].argmax(axis=0)]
        return np.maximum(low[left], low[right]), np.minimum(high[left], high[right])


def _between(axis: Floats, x: Floats) -> tuple[np.ndarray, Floats]:
    """Index of the point at or before x, and how far x is on the way to the next, in [0, 1]."""
    if axis.size == 1:
        return np.zeros(np.shape(x), np.int64), np.zeros(np.shape(x))
    at = np.clip(np.searchsorted(axis, x, side="right") - 1, 0, axis.size - 2)
    return at, np.clip((x - axis[at]) / (axis[at + 1] - axis[at]), 0.0, 1.0)
