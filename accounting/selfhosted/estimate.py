"""What is a request likely to cost, before its hour's bill is in? Its own terms, and its steps shared by R* requests.

An estimate stands in no total. It is what the request would cost in a full batch: no underfill, no gap, no idle.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from accounting.selfhosted import own_terms
from accounting.selfhosted.arrays import Floats
from accounting.selfhosted.curve import Curve, best_batch
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.requests import Requests


def estimated_seconds(
    curve: Curve, pool: Pool, requests: Requests, ttft_seconds: float | None = None, itl_seconds: float | None = None
) -> Floats:
    """Replica-seconds of each request of `requests`, NaN where cached tokens are unknown or no batch holds the targets.

    R* is the best batch at the requests' mean context. `requests`: times and replicas are not read.
    """
    known = requests.cached_tokens >= 0
    context, output = requests.context_tokens.astype(np.float64), requests.output_tokens.astype(np.float64)
    if not len(requests):
        return np.zeros(0)
    best = best_batch(curve, int(np.rint(context.mean())), ttft_seconds, itl_seconds, pool.token_budget)
    if best is None:
        return np.full(len(requests), np.nan)
    batch = float(min(best, pool.max_batch))
    cached = np.where(known, requests.cached_tokens, 0).astype(np.float64)
    new = context - cached
    steps = requests.steps().astype(np.float64)
    chunks = np.where(pool.role == "decode", 0.0, np.ceil(new / pool.token_budget))
    decodes = np.where(pool.role == "prefill", 0.0, steps)
    growth = np.where(steps > 0, np.maximum(output - 1, 0) / np.maximum(steps, 1), 1.0)
    nothing, one = np.zeros(len(requests)), np.ones(len(requests))
    prefill = np.where(chunks > 0, own_terms.prefill_seconds(curve, new, cached, np.maximum(chunks, 1.0)), 0.0)
    decode = own_terms.decode_seconds(curve, context, nothing, decodes, growth, one)
    shared = curve.shared_seconds(np.full(len(requests), batch), context * batch)
    experts = curve.e * curve.coverage(np.full(len(requests), batch)) / batch
    found = prefill + decode + (chunks + decodes) * (shared / batch + experts)
    return np.where(known, found, np.nan)


def estimated_cost(seconds: float, bill: int, capacity_us: int) -> int:
    """Whole units of a bill for some replica-seconds, at what a replica-second of the bill costs; half to even."""
    return round(Fraction(seconds) * 1_000_000 * bill / capacity_us)
