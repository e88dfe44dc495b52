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
    """values[b, s] over batch[b] and context[s], both ascending; beyond the edge the edge's value."""

    batch: Floats
    context: Floats
    values: Floats

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

    @classmethod
    def of(cls, file: dict[str, Any]) -> Grid:
        """From its part of a curve file; numbers may be texts."""
        values = [[float(one) for one in row] for row in file["values"]]
        return cls(
            np.asarray(file["batch"], np.float64), np.asarray(file["context"], np.float64), np.asarray(values, float)
        )

    def as_file(self) -> dict[str, Any]:
        return {"batch": self.batch.tolist(), "context": self.context.tolist(), "values": self.values.tolist()}

    def at(self, batch: Floats, context: Floats) -> Floats:
        """Values at points of any one shape."""
        row, down = _weights(self.batch, batch)
        column, right = _weights(self.context, context)
        last = np.minimum(row + 1, self.batch.size - 1), np.minimum(column + 1, self.context.size - 1)
        near = self.values[row, column] * (1 - right) + self.values[row, last[1]] * right
        far = self.values[last[0], column] * (1 - right) + self.values[last[0], last[1]] * right
        return np.asarray(near * (1 - down) + far * down)


def _weights(axis: Floats, at: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Index of the neighbour below, and the share of the way to the one above."""
    if axis.size == 1:
        return np.zeros(np.shape(at), np.int64), np.zeros(np.shape(at))
    below = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, axis.size - 2)
    return below, np.clip((at - axis[below]) / (axis[below + 1] - axis[below]), 0.0, 1.0)
