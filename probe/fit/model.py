"""Which terms, with or without a correction between the points, follow the measured steps?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from probe.curve.grid import Floats, Grid
from probe.curve.schema import Point
from probe.curve.terms import NAMES, Terms
from probe.fit.features import features, seconds, terms_of
from probe.fit.nnls import relative_nnls

Form = Literal["parametric", "parametric+residual"]


@dataclass(frozen=True)
class Experts:
    """E experts, k of them a token; 0 and 0 for dense models."""

    count: int = 0
    per_token: int = 0


@dataclass(frozen=True)
class Model:
    """Terms, and the ratio of measured over fitted decode steps between the points."""

    terms: Terms
    residual: Grid | None = None

    def predict(self, points: Sequence[Point]) -> Floats:
        """[points] seconds; only even decode steps are corrected, as in a curve's answers."""
        t = self.terms
        x = np.array([getattr(t, name) for name in NAMES])
        plain = features(points, t.experts, t.experts_per_token) @ x
        if self.residual is None:
            return np.asarray(plain)
        batch = np.array([max(p.batch, 1) for p in points], np.float64)
        mean = np.array([p.context_sum for p in points], np.float64) / batch
        corrected = plain * self.residual.at(batch, mean)
        return np.asarray(np.where([p.kind == "decode" for p in points], corrected, plain))


def fit_model(points: Sequence[Point], experts: Experts, form: Form) -> Model:
    """Relative-weighted non-negative least squares over all points; the residual from decode points of even lengths."""
    rows = features(points, experts.count, experts.per_token)
    x = relative_nnls(rows, seconds(points))
    terms = terms_of(x, experts.count, experts.per_token)
    if form == "parametric":
        return Model(terms)
    even = [p for p in points if p.kind == "decode" and not p.ragged]
    return Model(terms, _residual(even, Model(terms).predict(even)) if even else None)


def _residual(points: Sequence[Point], fitted: Floats) -> Grid:
    """Measured over fitted by batch and context. A cell that was not measured takes that of the nearest context of its batch: the
    edge's value, where a large batch of long contexts does not fit the cache."""
    ratio: dict[int, dict[float, float]] = {}
    for point, value in zip(points, fitted, strict=True):
        ratio.setdefault(point.batch, {})[point.context_sum / point.batch] = point.seconds / float(value)
    batches = sorted(ratio)
    contexts = sorted({context for row in ratio.values() for context in row})
    values = [_row(ratio[batch], contexts) for batch in batches]
    return Grid(np.array(batches, np.float64), np.array(contexts, np.float64), np.array(values))


def _row(known: dict[float, float], contexts: list[float]) -> list[float]:
    at = np.array(sorted(known))
    return list(np.interp(contexts, at, [known[one] for one in at]))
