"""How does a step look as Dynamo's ForwardPassMetrics, version 1? Sums a phase; who shared the step is lost.

Source: components/src/dynamo/common/forward_pass_metrics.py of ai-dynamo/dynamo. Lengths of prefilling requests are those of
their whole prompts; the KV tokens of a request are those in the cache before the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import asdict
from statistics import pvariance
from typing import Any

from probe.engine.interfaces import PhaseSums, RequestStep, StepRecord
from probe.engine.kv.sequence import Sequence

FPM_VERSION = 1


def to_fpm(record: StepRecord, worker_id: str = "probe", dp_rank: int = 0) -> dict[str, Any]:
    """One record as the message's fields; wall_time in seconds."""
    queued = asdict(record.queued)
    del queued["sum_prefill_kv_tokens"]  # the queue's message has no such field
    return {
        "version": FPM_VERSION,
        "worker_id": worker_id,
        "dp_rank": dp_rank,
        "counter_id": record.step_id,
        "wall_time": record.duration_ns / 1e9,
        "scheduled_requests": asdict(scheduled_sums(record.requests)),
        "queued_requests": queued,
    }


def scheduled_sums(requests: Iterable[RequestStep]) -> PhaseSums:
    """Sums over a step's requests."""
    parts = list(requests)
    prefill = [one for one in parts if one.kind == "prefill"]
    return _sums(
        [one.num_new_tokens for one in prefill],
        [one.num_prompt_tokens for one in prefill],
        sum(one.num_past_tokens for one in prefill),
        [one.num_past_tokens for one in parts if one.kind == "decode"],
    )


def queued_sums(waiting: Iterable[Sequence]) -> PhaseSums:
    """Sums over the waiting: new ones will prefill; preempted ones, which have output, count as decoding."""
    queue = list(waiting)
    fresh = [one.num_prompt_tokens for one in queue if not one.num_output_tokens]
    return _sums(fresh, fresh, 0, [one.num_tokens for one in queue if one.num_output_tokens])


def _sums(new: Seq[int], lengths: Seq[int], prefill_kv: int, decode_kv: Seq[int]) -> PhaseSums:
    return PhaseSums(
        num_prefill_requests=len(new),
        sum_prefill_tokens=sum(new),
        var_prefill_length=float(pvariance(lengths)) if lengths else 0.0,
        sum_prefill_kv_tokens=prefill_kv,
        num_decode_requests=len(decode_kv),
        sum_decode_kv_tokens=sum(decode_kv),
        var_decode_kv_tokens=float(pvariance(decode_kv)) if decode_kv else 0.0,
    )
