"""Is a pool bound by prefill, decode, KV memory or arrivals? Replica seconds of each, and the setting that moves the largest.

The replica time paid for is split by terms that add up to it exactly:

    prefill   own work of prompts
    decode    own work of decode steps, experts, and t_0 of steps as full as the targets allow
    kv        t_0 * R * (1/R* - 1/R_free) summed over steps: steps are less full than the targets allow, as the cache holds only R*
    arrivals  idle, and t_0 * (1 - R/R*): places in the batch that nobody came to fill; negative where batches are above R*
    gap       time in flight less the shares: host, interference, curve error, unproven work; negative where the curve over-predicts

R* holds targets and cache, R_free the targets alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accounting.errors import InvalidInput
from accounting.money import exact_sum
from accounting.selfhosted.arrays import PS_PER_SECOND, PS_PER_US, Floats
from accounting.selfhosted.curve import StepCurve
from accounting.selfhosted.requests import Requests, steps_of
from accounting.selfhosted.shares import Attribution
from accounting.selfhosted.workload import Workload

SETTINGS = {
    "prefill": "better prefix hits, replicas of their own for prompts, or a GPU with more operations a second",
    "decode": "a larger batch (max_batch, a wider ITL target), quantised weights or a GPU with more bandwidth",
    "kv_reads": "fewer KV bytes a token (GQA, MLA, a quantised cache) or shorter contexts: attention reads are most of decode",
    "kv": "more room for the cache: fewer KV bytes a token, more GPU memory or more GPUs a replica, shorter contexts",
    "arrivals": "fewer replicas or more traffic: places in the batch stay empty",
    "gap": "the engine's loop and host, failed work, or a curve to be measured again: time passes outside the predicted steps",
}
"""Which setting moves what a pool is bound by; `kv_reads` where attention is more than half of decode."""


@dataclass(frozen=True)
class Diagnosis:
    """Replica picoseconds; the five terms add up to `capacity`.

    Attributes:
        kv: None where the curve can't say (a table), as is the underfill in `arrivals`.
        kv_reads: memo, of decode: attention to the cache.
        bound: the largest term. setting: what moves it.
    """

    capacity: int
    prefill: int
    decode: int
    kv: int | None
    arrivals: int
    gap: int
    kv_reads: int
    bound: str
    setting: str


def diagnose(found: Attribution, requests: Requests, best_batch: int | None, free_batch: int | None) -> Diagnosis:
    """What the attributed hours were spent on.

    `best_batch`: R*, `free_batch`: R_free (`curve.best_batch` with and without memory); None for a table. Raises InvalidInput where
    the first is the larger.
    """
    lines, curve = found.lines, found.curve
    capacity = exact_sum(found.capacity_us) * PS_PER_US
    idle, direct = exact_sum(found.idle_us) * PS_PER_US, exact_sum(lines.share_ps)
    gap = exact_sum(found.in_flight_us) * PS_PER_US - direct
    own_prefill, own_decode = _ps(lines.own_prefill), _ps(lines.own_decode)
    if not isinstance(curve, StepCurve) or best_batch is None or free_batch is None:
        prefill = _ps(lines.prefill_seconds)
        return _bound(capacity, prefill, direct - prefill, None, idle, gap, 0)
    if not 1 <= best_batch <= free_batch:
        raise InvalidInput("best_batch", best_batch, f"from 1 to the {free_batch} that targets alone allow is expected")
    steps = curve.t_0 * lines.request_steps
    kv = _ps(steps / best_batch - steps / free_batch)
    underfill = _ps(lines.shared - steps / best_batch)
    full = direct - own_prefill - own_decode - kv - underfill
    phases = (own_prefill, own_decode + full) if own_decode else (own_prefill + full, 0)
    reads = round(own_decode * _reads(curve, requests, np.unique(lines.row)))
    return _bound(capacity, *phases, kv, idle + underfill, gap, reads)


def _bound(
    capacity: int, prefill: int, decode: int, kv: int | None, arrivals: int, gap: int, kv_reads: int
) -> Diagnosis:
    terms = {"prefill": prefill, "decode": decode, "kv": kv or 0, "arrivals": arrivals, "gap": gap}
    bound = max(terms, key=lambda name: terms[name])
    setting = SETTINGS["kv_reads" if bound == "decode" and 2 * kv_reads > decode else bound]
    return Diagnosis(capacity, prefill, decode, kv, arrivals, gap, kv_reads, bound, setting)


def _reads(curve: StepCurve, requests: Requests, rows: np.ndarray) -> float:
    """Of own decode work, the part of attention reads: c*s of c*s + a, over whole requests."""
    steps = steps_of(requests.output_tokens[rows], requests.decode_steps[rows])
    served = rows[steps > 0]
    if not served.size:
        return 0.0
    context = requests.context_tokens[served]
    one = np.ones(served.size, np.int64)
    work = Workload(one, np.maximum(context - 1, 0), requests.output_tokens[served])
    of_sequences = curve.a * float(work.decode_steps.sum())
    whole = float(work.own_decode_seconds(curve).sum())
    return 0.0 if whole == 0 else 1.0 - of_sequences / whole


def _ps(seconds: Floats) -> int:
    return exact_sum(np.rint(seconds * PS_PER_SECOND).astype(np.int64))
