"""A curve, a pool and one request whose every term is easy to work out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.curve import Domain, Header, StepCurve
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.workload import Workload

HEADER = Header("c1", "m", "e", "H200", "bf16", "2026-10-01")
CURVE = StepCurve(HEADER, Domain((1, 64), (1, 8_192)), t_0=0.005, a=1e-5, c=1e-7, d=2e-5, f=1e-9, r=1e-8)
POOL = Pool(token_budget=2_048, max_batch=64)


def workload(new: int = 1_000, cached: int = 0, output: int = 101, count: int = 1) -> Workload:
    return Workload(*(np.full(count, value, np.int64) for value in (new, cached, output)))


def alone(context: int = 1_500, cached: int = 500, output: int = 101) -> Requests:
    """One request by itself, received at 0; its times are the curve's own."""
    new = context - cached
    prefill = 0.005 + 2e-5 * new + 1e-9 * new * (cached + new / 2) + 1e-8 * cached
    steps = output - 1
    decode = steps * (0.005 + 1e-5) + 1e-7 * (steps * context + steps * (steps + 1) / 2)
    first = round(prefill * 1e6)
    columns: dict[str, Any] = {
        "replica": 0,
        "received_at": 0,
        "prefill_started_at": NO_TIME,
        "first_token_at": first,
        "completed_at": first + round(decode * 1e6),
        "context_tokens": context,
        "cached_tokens": cached,
        "output_tokens": output,
        "decode_steps": UNKNOWN,
        "positions": UNKNOWN,
        "shared_tokens": 0,
    }
    made = {name: np.array([value], np.int64) for name, value in columns.items()}
    return Requests(request_id=np.array(["r1"]), failed=np.zeros(1, np.bool_), **made)
