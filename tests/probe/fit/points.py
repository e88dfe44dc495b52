"""Steps made from known terms, in a grid of batch and context."""

from __future__ import annotations

import numpy as np

from probe.curve.schema import Point
from probe.curve.terms import Terms

DENSE = Terms(t_0=0.005, a=1e-5, c=3e-8, d=1e-5, f=2e-9, r=5e-9)
MIXTURE = Terms(t_0=0.003, a=1e-5, c=3e-8, d=1e-5, f=2e-9, r=5e-9, e=1e-4, experts=128, experts_per_token=8)
BATCHES, CONTEXTS = (1, 2, 4, 8, 16, 32, 64), (128, 512, 2048, 8192)


def _seconds(terms: Terms, batch: float, context_sum: float, prefill: float, tokens: float) -> float:
    return float(terms.seconds(*(np.float64(one) for one in (batch, context_sum, prefill, tokens))))


def decode(terms: Terms, batch: int, context: int, stretch: float = 1.0, ragged: bool = False) -> Point:
    seconds = _seconds(terms, batch, batch * context, 0.0, batch) * stretch
    return Point(kind="decode", seconds=seconds, batch=batch, context_sum=batch * context, ragged=ragged)


def prefill(terms: Terms, new: int, cached: int) -> Point:
    own = float(terms.prefill(np.float64(new), np.float64(cached)))
    pairs = new * (cached + new / 2)
    return Point(kind="prefill", seconds=_seconds(terms, 0, 0, own, new), new=new, cached=cached, pairs=pairs)


def grid(terms: Terms) -> list[Point]:
    steps = [decode(terms, batch, context) for batch in BATCHES for context in CONTEXTS]
    return steps + [prefill(terms, new, cached) for new in (128, 512, 2048) for cached in (0, 1024, 8192)]
