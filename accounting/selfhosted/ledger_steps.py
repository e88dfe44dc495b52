"""What did each request use by the engine's own step ledger? Shares of every step it was in, without a sweep; quality `exact`.

Shares are standard costs: the curve's time of each recorded step. What the step took beyond it is the efficiency variance, booked apart.
Where no ledger records, the sweep's shares stand (`ledger_cover.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import PS_PER_SECOND, Bools, Floats, Ints
from accounting.selfhosted.curve import Curve, TableCurve
from accounting.selfhosted.ledger_cover import Covered, beside, together
from accounting.selfhosted.lines import Lines
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.prefix import Uses, spread
from accounting.selfhosted.reasons import CHARGED, EXACT, NOT_BILLED, NOT_IN_LEDGER, OUTSIDE
from accounting.selfhosted.requests import Requests, judge
from accounting.selfhosted.shares import Attribution, swept
from accounting.selfhosted.state import Policy


@dataclass(frozen=True)
class Steps:
    """A step ledger: steps, and the parts requests had in them.

    Attributes:
        replica, started_at, seconds, kv_blocked: by step: scheduler, microseconds since 1970, measured duration, memory kept a request out.
        step, request: by part: index of the step and of the request.
        new_tokens, past_tokens, prompt: computed, found in the cache, whether of a prompt.
        held: KV tokens or blocks it held, shared ones by holders.
    """

    replica: Ints
    started_at: Ints
    seconds: Floats
    kv_blocked: Bools
    step: Ints
    request: Ints
    new_tokens: Ints
    past_tokens: Ints
    prompt: Bools
    held: Floats

    def __post_init__(self) -> None:
        count = len(self.replica)
        for one in fields(self):
            expected = count if one.name in ("replica", "started_at", "seconds", "kv_blocked") else len(self.step)
            if getattr(self, one.name).shape != (expected,):
                raise InvalidInput(one.name, getattr(self, one.name).shape, f"{expected} values are expected")
        if self.step.size and not 0 <= int(self.step.min()) <= int(self.step.max()) < count:
            raise InvalidInput("step", int(self.step.max()), f"there are {count} steps")
        for name, least in (("new_tokens", 1), ("past_tokens", 0), ("seconds", 0)):
            column = getattr(self, name)
            if column.size and column.min() < least:
                raise InvalidInput(name, column.min().item(), f"at least {least} is expected")


def attribute_steps(
    curve: Curve,
    pool: Pool,
    requests: Requests,
    cells: Cells,
    steps: Steps,
    policy: Policy = "switch",
    covered: Covered | None = None,
    filled: Bools | None = None,
    uses: Uses | None = None,
) -> Attribution:
    """Shares by the ledger; in-flight and idle time by the log. A step belongs to the stretch in which it began.

    Every request that a step names is charged, whatever its log lacks: the ledger is evidence of steps and of what was computed. One
    beyond the measured range is not, where the pool refuses those.

    Args:
        covered: when the ledgers record; None: from each replica's first step to the end of its last.
        filled: as `attribute` has it.
        uses: of prefix blocks that are amortised; None: the first request to compute one pays it.
    """
    by_log = swept(curve, pool, requests, cells, policy, filled)
    if steps.request.size and not 0 <= int(steps.request.min()) <= int(steps.request.max()) < len(requests):
        raise InvalidInput("request", int(steps.request.max()), f"there are {len(requests)} requests")
    hour = _hours(cells, steps)
    alive = np.bincount(steps.step, minlength=len(steps.replica)).astype(np.float64)
    tokens = _by_step(steps, steps.new_tokens.astype(np.float64))
    new, past = steps.new_tokens.astype(np.float64), steps.past_tokens.astype(np.float64)
    decode = new * (curve.a + curve.c * (past + (new + 1) / 2))
    own = np.where(steps.prompt, curve.prefill_seconds(new, past), decode)
    a_token: Floats = curve.e * curve.coverage(tokens) / np.maximum(tokens, 1.0)
    experts = new * a_token[steps.step]
    contexts = _by_step(steps, past + new)
    all_held = _by_step(steps, steps.held)
    of_held = steps.held / np.where(all_held > 0, all_held, 1.0)[steps.step]
    by_memory = (
        (steps.kv_blocked & (all_held > 0))[steps.step] if policy == "switch" else np.zeros(steps.step.size, np.bool_)
    )
    weight = np.where(by_memory, of_held, 1.0 / alive[steps.step])
    a_step = np.broadcast_to(curve.shared_seconds(np.maximum(alive, 1.0), contexts), alive.shape)
    shared = a_step[steps.step] * weight
    parts: dict[str, Floats] = {
        "own_prefill": np.where(steps.prompt, own, 0.0),
        "own_decode": np.where(steps.prompt, 0.0, own),
        "shared": shared,
        "experts": experts,
        "prefill_seconds": np.where(steps.prompt, own + shared + experts, 0.0),
        "request_steps": np.ones(steps.step.size),
        "step_shares": weight,
        "kv_share": of_held,
        "extrapolated": np.zeros(steps.step.size),
    }
    if isinstance(curve, TableCurve):
        at = np.maximum(alive, 1.0)
        parts["extrapolated"] = curve.unmeasured(at, contexts / at)[steps.step].astype(np.float64)
    lines = _summed(parts, steps.request, hour[steps.step])
    far = judge(requests, curve, pool).extrapolated
    lines = replace(lines, extrapolated=lines.extrapolated | far[lines.row])
    lines = lines.take(by_log.reason[lines.row] != OUTSIDE)
    lines = lines if uses is None else spread(curve, lines, uses, len(requests))
    standard = _by_step(steps, own + shared + experts)
    billed = hour >= 0
    variance = np.bincount(hour[billed], weights=(steps.seconds - standard)[billed], minlength=cells.hours)
    named = np.zeros(len(requests), np.bool_)
    named[steps.request] = True
    recorded = covered or Covered.of(steps.replica, steps.started_at, steps.seconds)
    kept, missing = beside(by_log, requests, cells, recorded, lines)
    lines = together(lines, by_log.lines.take(kept))
    charged = np.zeros(len(requests), np.bool_)
    charged[lines.row] = True
    reason = np.where(named & (by_log.reason != OUTSIDE), np.int8(NOT_BILLED), by_log.reason)
    reason = np.where(missing & ~named, np.int8(NOT_IN_LEDGER), reason)
    reason = np.where(charged, np.int8(CHARGED), reason)
    variance_ps = np.rint(variance * PS_PER_SECOND).astype(np.int64)
    return replace(by_log, lines=lines, reason=reason, variance_ps=variance_ps).refusing(pool.outside)


def _by_step(steps: Steps, parts: Floats) -> Floats:
    """Sums over the parts of each step."""
    return np.asarray(np.bincount(steps.step, weights=parts, minlength=len(steps.replica)), np.float64)


def _hours(cells: Cells, steps: Steps) -> Ints:
    """The pool hour in which each step began; -1 where no bill covers it."""
    found = np.full(len(steps.replica), -1)
    for at in range(len(cells)):
        inside = (steps.started_at >= cells.start_at[at]) & (steps.started_at < cells.end_at[at])
        found[inside & (steps.replica == cells.replica[at])] = cells.hour[at]
    return found


def _summed(parts: dict[str, Floats], request: Ints, hour: Ints) -> Lines:
    """Lines by hour and request."""
    at = np.flatnonzero(hour >= 0)
    width = int(request.max()) + 1 if request.size else 1
    key, inverse = np.unique(hour[at] * width + request[at], return_inverse=True)
    sums: dict[str, Any] = {
        name: np.bincount(inverse, weights=one[at], minlength=key.size) for name, one in parts.items()
    }
    share = sums["own_prefill"] + sums["own_decode"] + sums["shared"] + sums["experts"]
    sums["kv_share"] = sums["kv_share"] / np.maximum(sums["request_steps"], 1.0)
    quality = np.full(key.size, EXACT, np.int8)
    ps = np.rint(share * PS_PER_SECOND).astype(np.int64)
    extrapolated = sums.pop("extrapolated") > 0
    return Lines(row=key % width, hour=key // width, share_ps=ps, quality=quality, extrapolated=extrapolated, **sums)
