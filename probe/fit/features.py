"""Which numbers of a step explain its time?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.grid import Floats
from probe.curve.schema import Point
from probe.curve.terms import NAMES, Terms, coverage


def features(points: Sequence[Point], experts: int = 0, experts_per_token: int = 0) -> Floats:
    """[points, 7] in the order of `NAMES`: 1, experts touched, decoding sequences, tokens they attend to, new prompt tokens, pairs of
    new and earlier token, cached tokens."""
    table = np.array([[p.batch, p.context_sum, p.new, p.pairs, p.cached] for p in points], np.float64).reshape(-1, 5)
    tokens = table[:, 0] + table[:, 2]
    if bool((tokens < 1).any()):
        raise CurveRefused("points.batch", 0, "a step with neither a decoding sequence nor a new token can't be fitted")
    first = [np.ones(len(points)), coverage(tokens, experts, experts_per_token)]
    return np.column_stack([*first, table])


def seconds(points: Sequence[Point]) -> Floats:
    """[points] measured seconds."""
    return np.array([p.seconds for p in points], np.float64)


def terms_of(x: Floats, experts: int, experts_per_token: int) -> Terms:
    """Coefficients by their names; a model whose experts cost nothing is dense."""
    named = dict(zip(NAMES, (float(one) for one in x), strict=True))
    if named["e"] == 0:
        experts = experts_per_token = 0
    return Terms(**named, experts=experts, experts_per_token=experts_per_token)
