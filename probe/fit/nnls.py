"""Which coefficients, none of them negative, come closest to what was measured?

Active-set method of Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23. Columns are scaled to length 1 first, so that
seconds a token and seconds a step are told apart by the same tolerance.
"""

from __future__ import annotations

import numpy as np

from probe.curve.grid import Floats

_TOLERANCE = 1e-10


def nnls(rows: Floats, values: Floats) -> Floats:
    """x >= 0 of shape [columns] that makes |rows @ x - values| least. Columns of zeros get 0."""
    lengths = np.linalg.norm(rows, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    a = rows / scale
    x, free = np.zeros(a.shape[1]), np.zeros(a.shape[1], np.bool_)
    slack = _TOLERANCE * max(1.0, float(np.linalg.norm(values)))
    for _ in range(10 * a.shape[1]):
        gradient = np.where(free, -np.inf, a.T @ (values - a @ x))
        if free.all() or gradient.max() <= slack:
            break
        free[int(np.argmax(gradient))] = True
        x = _descend(a, values, x, free)
    return np.asarray(x / scale)


def _descend(a: Floats, values: Floats, x: Floats, free: np.ndarray) -> Floats:
    """Least squares over the free columns, stepping back to the border (and freezing there) while one turns negative."""
    while True:
        best = np.zeros_like(x)
        best[free] = np.linalg.lstsq(a[:, free], values, rcond=None)[0]
        below = free & (best <= 0)
        if not below.any():
            return best
        steps = x[below] / (x[below] - best[below] + 1e-300)
        x = x + float(steps.min()) * (best - x)
        free[free & (x <= _TOLERANCE)] = False
        x = np.where(free, x, 0.0)
        if not free.any():
            return x


def relative_nnls(rows: Floats, values: Floats) -> Floats:
    """The same with every row divided by its value: errors count relative to what was measured."""
    return nnls(rows / values[:, None], np.ones_like(values))
