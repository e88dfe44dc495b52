"""What lies between measured points of a batch x context grid? Straight lines, so nothing rises between two falling points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.curve.errors import CurveRefused

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """values[b, s] over batch[b] and context[s], both ascending; beyond the edge the edge's value. `measured`: which of them were, the
    others only complete the grid; None: all."""

    batch: Floats
    context: Floats
    values: Floats
    measured: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        for name in ("batch", "context"):
            axis = getattr(self, name)
            if axis.ndim != 1 or axis.size < 1 or bool((np.diff(axis) <= 0).any()):
                raise CurveRefused(f"grid.{name}", axis.tolist(), "numbers in ascending order are expected")
        if self.values.shape != (self.batch.size, self.context.size):
            raise CurveRefused("grid.values", self.values.shape, "batch by context is expected")
        wrong = self.values[~(np.isfinite(self.values) & (self.values > 0))]
        if wrong.size:
            raise CurveRefused("grid.values", float(wrong[0]), "finite numbers above 0 are expected")
        if self.measured is not None:
            if self.measured.shape != self.values.shape:
                raise CurveRefused("grid.measured", self.measured.shape, "batch by context is expected")
            empty = self.context[~np.any(self.measured, axis=0)]
            if empty.size:
                raise CurveRefused("grid.measured", f"context {empty[0]:g}", "no batch was measured there")

    @classmethod
    def of(cls, file: dict[str, Any]) -> Grid:
        """From its part of a curve file; numbers may be texts."""
        values = [[float(one) for one in row] for row in file["values"]]
        batch, context = (np.asarray(file[axis], np.float64) for axis in ("batch", "context"))
        known = file.get("measured")
        return cls(batch, context, np.asarray(values, float), None if known is None else np.asarray(known, np.bool_))

    def as_file(self) -> dict[str, Any]:
        plain = {"batch": self.batch.tolist(), "context": self.context.tolist(), "values": self.values.tolist()}
        return plain if self.measured is None else plain | {"measured": self.measured.tolist()}

    def at(self, batch: Floats, context: Floats) -> Floats:
        """Values at points of any one shape."""
        row, down = _weights(self.batch, batch)
        column, right = _weights(self.context, context)
        last = np.minimum(row + 1, self.batch.size - 1), np.minimum(column + 1, self.context.size - 1)
        near = self.values[row, column] * (1 - right) + self.values[row, last[1]] * right
        far = self.values[last[0], column] * (1 - right) + self.values[last[0], last[1]] * right
        return np.asarray(near * (1 - down) + far * down)

    def batches_at(self, context: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest batch that were measured at each context: at both neighbours of one between two. No batch was where the
        first is above the second."""
        left, part = _weights(self.context, context)
        right = np.where(part > 0, np.minimum(left + 1, self.context.size - 1), left)
        left = np.where(part < 1, left, right)
        known = np.ones(self.values.shape, np.bool_) if self.measured is None else self.measured
        low, high = self.batch[known.argmax(axis=0)], self.batch[::-1][known[::-1].argmax(axis=0)]
        return np.maximum(low[left], low[right]), np.minimum(high[left], high[right])


def _weights(axis: Floats, at: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Index of the neighbour below, and the share of the way to the one above."""
    if axis.size == 1:
        return np.zeros(np.shape(at), np.int64), np.zeros(np.shape(at))
    below = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, axis.size - 2)
    return below, np.clip((at - axis[below]) / (axis[below + 1] - axis[below]), 0.0, 1.0)
