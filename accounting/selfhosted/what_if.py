"""What would the same requests cost on another GPU, model shape, precision, split of phases, or with other contexts and prefix hits?

Other measured curves are used wherever there are ones: another GPU, quantised weights, another architecture. What no curve measured is
derived only for the KV cache (GQA ratio, MLA, cache precision), by a stated rule, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from accounting.errors import InvalidInput
from accounting.selfhosted.capacity import replicas_needed
from accounting.selfhosted.curve import Curve, StepCurve
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.steady import NO_TARGETS, Targets
from accounting.selfhosted.workload import Workload

DERIVED_KV = "derived, not measured: c, r and the cache's bytes a token taken in proportion"
BEHAVIOUR = "answers may differ: the workload must be evaluated again before costs are compared"
FLOOR = "floor: composed from kernel times, about half of served time at saturation"
TABLE = "table: equal shares of served steps"
EXTRAPOLATED = "beyond the measured range"


@dataclass(frozen=True)
class Setup:
    """One way to serve. Attributes: replica_hour: what a replica costs an hour. assumptions: what about it was not measured."""

    name: str
    curve: Curve
    pool: Pool
    replica_hour: Fraction
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effect:
    """What a setup does with a workload; everything None where no batch holds the targets.

    Attributes:
        batch: R*. limit: what stops a larger one. itl_seconds, ttft_seconds: there.
        replicas: for the rate asked about. replica_hours_cost: what they cost an hour.
        request_cost: of a mean request with the replicas as busy as allowed, cost_per_million: of its tokens.
        notes: what a reader must know before comparing.
    """

    name: str
    batch: float | None
    limit: str | None
    itl_seconds: float | None
    ttft_seconds: float | None
    replicas: int | None
    replica_hours_cost: Fraction | None
    request_cost: Fraction | None
    cost_per_million: Fraction | None
    notes: tuple[str, ...]


def effect(
    setup: Setup, workload: Workload, requests_per_second: float, busy: Fraction, targets: Targets = NO_TARGETS
) -> Effect:
    """One setup at its operating point."""
    found = replicas_needed(setup.curve, setup.pool, workload, requests_per_second, busy, targets)
    if found is None:
        nothing = (None,) * 8
        return Effect(setup.name, *nothing, notes=(*notes_of(setup.curve, False), *setup.assumptions))
    at = found.operating.steady
    cost = setup.replica_hour * Fraction(at.request_seconds) / 3_600 / busy
    return Effect(
        setup.name,
        at.batch,
        found.operating.limit,
        at.itl_seconds,
        at.ttft_seconds,
        found.replicas,
        setup.replica_hour * found.replicas,
        cost,
        cost * len(workload) * 1_000_000 / workload.tokens,
        (*notes_of(setup.curve, at.extrapolated), *setup.assumptions),
    )


def disaggregated(
    prefill: Setup,
    decode: Setup,
    workload: Workload,
    requests_per_second: float,
    busy: Fraction,
    targets: Targets = NO_TARGETS,
) -> Effect:
    """Prompts on replicas of one setup, decode steps on those of another; moving the cache between them is not in the curves."""
    first = effect(_of_role(prefill, "prefill"), workload, requests_per_second, busy, Targets(targets.ttft_seconds))
    then = effect(_of_role(decode, "decode"), workload, requests_per_second, busy, Targets(None, targets.itl_seconds))
    name = f"{prefill.name} prefill + {decode.name} decode"
    notes = (*dict.fromkeys((*first.notes, *then.notes)), "moving the cache between the pools costs nothing here")

    def both(one: Fraction | None, other: Fraction | None) -> Fraction | None:
        return None if one is None or other is None else one + other

    replicas = None if first.replicas is None or then.replicas is None else first.replicas + then.replicas
    return Effect(
        name,
        then.batch,
        then.limit,
        then.itl_seconds,
        first.ttft_seconds,
        replicas,
        both(first.replica_hours_cost, then.replica_hours_cost),
        both(first.request_cost, then.request_cost),
        both(first.cost_per_million, then.cost_per_million),
        notes,
    )


def with_kv_ratio(setup: Setup, ratio: Fraction, name: str) -> Setup:
    """The setup with `ratio` times the KV bytes a token: GQA heads after / before, MLA's (d_latent + d_rope) / (2 * n_kv * d_head).

    c and r (reads of the cache) and the memory of a token scale, everything else stays. Another shape is another model and a quantised
    cache rounds, so answers may differ. Raises InvalidInput for a table, whose steps can't be told apart.
    """
    curve = setup.curve
    if not isinstance(curve, StepCurve):
        raise InvalidInput("curve", curve.header.curve_id, "a table does not say what reading the cache costs")
    if ratio <= 0:
        raise InvalidInput("kv_ratio", str(ratio), "a positive ratio is expected")
    memory = curve.memory
    if memory is not None:
        # Room for a token grows as its bytes shrink; kept whole, so the block's bytes stay what they were.
        memory = replace(memory, kv_bytes=int(memory.kv_bytes / ratio))
    header = replace(curve.header, behaviour_changing=True)
    changed = replace(curve, header=header, c=curve.c * float(ratio), r=curve.r * float(ratio), memory=memory)
    capacity = setup.pool.kv_capacity_tokens
    pool = replace(setup.pool, kv_capacity_tokens=None if capacity is None else int(capacity / ratio))
    return Setup(name, changed, pool, setup.replica_hour, (*setup.assumptions, DERIVED_KV))


def notes_of(curve: Curve, extrapolated: bool) -> tuple[str, ...]:
    """What stands beside every figure of a curve."""
    header = curve.header
    kl = "KL not measured" if header.kl_divergence is None else f"KL {header.kl_divergence:g}"
    said = (
        (header.behaviour_changing, f"{BEHAVIOUR} ({kl})"),
        (header.floor, FLOOR),
        (curve.form == "table", TABLE),
        (extrapolated, EXTRAPOLATED),
    )
    return tuple(text for holds, text in said if holds)


def _of_role(setup: Setup, role: Literal["prefill", "decode"]) -> Setup:
    return replace(setup, pool=replace(setup.pool, role=role))
