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

from dataclasses import dataclass, replace

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import PS_PER_SECOND, PS_PER_US
from accounting.selfhosted.curve import Curve, StepCurve, best_batch
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.spent import Spent
from accounting.selfhosted.steady import Targets, kv_room
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


def diagnose(
    curve: Curve,
    spent: Spent,
    capacity_us: int,
    idle_us: int,
    workload: Workload | None,
    best: int | None,
    free: int | None,
) -> Diagnosis:
    """What the replica time paid for was spent on.

    Args:
        spent: the shares. capacity_us, idle_us: paid for, and of it with nothing in flight.
        workload: the requests charged, for the part of attention reads in decode; None: none was.
        best, free: R* and R_free (`batches`); None for a table.

    Raises InvalidInput where R* is the larger.
    """
    capacity, idle = capacity_us * PS_PER_US, idle_us * PS_PER_US
    direct, own_prefill, own_decode = _ps(spent.share), _ps(spent.own_prefill), _ps(spent.own_decode)
    gap = capacity - idle - direct
    if not isinstance(curve, StepCurve) or workload is None or best is None or free is None:
        prefill = _ps(spent.prefill)
        return _bound(capacity, prefill, direct - prefill, None, idle, gap, 0)
    if not 1 <= best <= free:
        raise InvalidInput("best", best, f"from 1 to the {free} that targets alone allow is expected")
    steps = curve.t_0 * spent.request_steps
    kv = _ps(steps / best - steps / free)
    underfill = _ps(spent.shared - steps / best)
    full = direct - own_prefill - own_decode - kv - underfill
    phases = (own_prefill, own_decode + full) if own_decode else (own_prefill + full, 0)
    reads = round(own_decode * _reads(curve, workload))
    return _bound(capacity, *phases, kv, idle + underfill, gap, reads)


def batches(curve: Curve, pool: Pool, workload: Workload, targets: Targets) -> tuple[int, int] | None:
    """(R*, R_free) at the workload's mean prompt; None for a table, where no batch holds targets or cache, and for a pool of
    prompts alone, whose steps are full by tokens."""
    if not isinstance(curve, StepCurve) or pool.role == "prefill":
        return None
    context = max(1, round(float(workload.context_tokens.mean())))
    free = best_batch(
        replace(curve, memory=None), context, targets.ttft_seconds, targets.itl_seconds, pool.token_budget
    )
    if free is None:
        return None
    free = min(free, pool.max_batch)
    room = kv_room(curve, pool, workload)
    best = free if room is None else min(free, room)
    return (best, free) if best >= 1 else None


def _bound(
    capacity: int, prefill: int, decode: int, kv: int | None, arrivals: int, gap: int, kv_reads: int
) -> Diagnosis:
    terms = {"prefill": prefill, "decode": decode, "kv": kv or 0, "arrivals": arrivals, "gap": gap}
    bound = max(terms, key=lambda name: terms[name])
    setting = SETTINGS["kv_reads" if bound == "decode" and 2 * kv_reads > decode else bound]
    return Diagnosis(capacity, prefill, decode, kv, arrivals, gap, kv_reads, bound, setting)


def _reads(curve: StepCurve, workload: Workload) -> float:
    """Of own decode work, the part of attention reads: c*s of c*s + a."""
    whole = float(workload.own_decode_seconds(curve).sum())
    return 0.0 if whole == 0 else 1.0 - curve.a * float(workload.decode_steps.sum()) / whole


def _ps(seconds: float) -> int:
    return round(seconds * PS_PER_SECOND)
