"""Which of the product's requests does its own pool serve, and when was each token's turn?

The pool runs a small model on a machine of its own. Times are those of a simulation on the measured curve, so that the log is one the
pool could have written; requests beyond what the curve measured stay with the provider.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from accounting.demo import product
from accounting.demo.traffic import CHAT, ERROR, FREE, OK, Bools, Ints, Traffic
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.curve import Curve, Domain, Range
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.forward import complete_times
from accounting.selfhosted.requests import Requests

MEASURED = Path(__file__).parent / "curve.json"
"""A CPU measurement of a scaled model; its `source` says when, by which engine and on what."""


def measured() -> str:
    """The curve file that comes with the demo."""
    return MEASURED.read_text(encoding="utf-8")


def serve(traffic: Traffic, curve: Curve | None, month: date, seed: int) -> Traffic:
    """The traffic with the pool's part of it: model, times, tokens of reasoning. The rest stays as it was drawn.

    `curve`: of the pool; None: the measured one that comes with the demo.
    """
    curve = curve or load_curve(measured())
    rng = np.random.default_rng([seed, month.year, month.month, 1])
    fits = _measured(traffic, curve.domain)
    asked = (traffic.served == FREE) & (traffic.feature == CHAT) & ~traffic.batch & np.isin(traffic.status, (OK, ERROR))
    chosen = asked & fits & (traffic.model != product.UNLISTED) & (rng.random(len(traffic.user)) < product.HOSTED_SHARE)
    rows = np.flatnonzero(chosen)
    if not rows.size:
        return traffic
    failed = traffic.status[rows] == ERROR
    done, _ = complete_times(curve, product.ENGINE, _requests(traffic, rows, failed), 1)
    first, took, model, reasoning = (
        column.copy() for column in (traffic.first_token_at, traffic.took, traffic.model, traffic.reasoning)
    )
    model[rows], reasoning[rows] = product.HOSTED, 0
    first[rows] = np.where(failed, NO_TIME, done.first_token_at)
    took[rows] = np.where(failed, traffic.took[rows], done.completed_at - traffic.occurred_at[rows])
    return replace(traffic, model=model, reasoning=reasoning, first_token_at=first, took=took)


def _measured(traffic: Traffic, domain: Domain) -> Bools:
    """Which requests lie within what the curve was measured at."""
    fits: Bools = traffic.input_tokens + traffic.output_tokens <= domain.context[1]
    fits = fits & (traffic.input_tokens - traffic.cache_read <= _end(domain.prefill_new))
    return fits & (traffic.cache_read <= _end(domain.prefill_cached))


def _end(bounds: Range | None) -> float:
    """An axis that was not swept rules nothing out."""
    return np.inf if bounds is None else bounds[1]


def _requests(traffic: Traffic, rows: Ints, failed: Bools) -> Requests:
    """What the pool is asked for; a request that failed never began."""
    count = rows.size
    return Requests(
        request_id=np.arange(count),
        replica=np.zeros(count, np.int64),
        received_at=traffic.occurred_at[rows],
        prefill_started_at=np.full(count, NO_TIME),
        first_token_at=np.full(count, NO_TIME),
        completed_at=np.where(failed, traffic.occurred_at[rows] + traffic.took[rows], NO_TIME),
        context_tokens=np.maximum(traffic.input_tokens[rows], 1),
        cached_tokens=traffic.cache_read[rows],
        output_tokens=traffic.output_tokens[rows],
        decode_steps=np.full(count, UNKNOWN),
        positions=np.full(count, UNKNOWN),
        shared_tokens=np.zeros(count, np.int64),
        failed=failed,
    )
