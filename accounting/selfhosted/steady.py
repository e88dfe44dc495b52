"""What does a replica do in the steady state: how many requests a second, at which pace, and which limit stops it there?

With N decode steps and n new prompt tokens a request on average, R requests decoding and a token budget B, a request needs
sigma = max(N/R, n/(B - R)) steps of the replica to itself, so

    seconds a request = own prefill + own decode + sigma * (t_0 + e*cov(T)),   T = (N + n) / sigma tokens in a step

Requests a second are its inverse, a step (the time between tokens) lasts seconds/sigma, and N/sigma requests decode at once. Prompts that
run alone (`prefill_first`) take n/B steps beside N/R. No queueing is in it: that is what `headroom` in capacity.py is for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Curve, StepCurve, prompts_measured
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.workload import Workload


@dataclass(frozen=True)
class Targets:
    """Attributes: ttft_seconds, itl_seconds: what 95 % of first tokens, and the mean step, may take; None: not limited."""

    ttft_seconds: float | None = None
    itl_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("ttft_seconds", "itl_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidInput(name, value, "a positive number of seconds is expected")


NO_TARGETS = Targets()


@dataclass(frozen=True)
class Steady:
    """One replica kept at a batch.

    Attributes:
        batch: requests that decode at once.
        request_seconds: replica seconds of a request, its part of every step included; times the replica's rate it is its cost.
        itl_seconds: one step. ttft_seconds: of the 95th percentile of the prompts, queueing left out; None where the curve can't say.
        extrapolated: beyond the curve's measured range: the batch, the mean context, or some prompt.
    """

    batch: float
    request_seconds: float
    itl_seconds: float
    ttft_seconds: float | None
    extrapolated: bool

    @property
    def requests_per_second(self) -> float:
        """What it serves."""
        return 1.0 / self.request_seconds


@dataclass(frozen=True)
class Operating:
    """The best batch, and why it is no larger.

    Attributes:
        steady: the replica at R*.
        limit: kv | itl | ttft | max_batch | measured_range: what a larger batch would break; token_budget: prompts fill the steps, so that
            fewer decode at once; none: a larger batch would serve no more.
    """

    steady: Steady
    limit: str


def steady(curve: Curve, pool: Pool, workload: Workload, batch: float) -> Steady:
    """The replica with `batch` requests decoding. Raises InvalidInput for less than 1.

    A pool of role prefill computes prompts alone, one of role decode steps alone; a table knows no prefill of its own: its served
    steps hold it, and it can't tell the phases apart.
    """
    if not batch >= 1:
        raise InvalidInput("batch", batch, "a batch from 1 is expected")
    if not isinstance(curve, StepCurve):
        if pool.role != "mixed":
            raise InvalidInput(
                "role", pool.role, f"curve {curve.header.curve_id} is a table, which does not tell phases apart"
            )
        return _served(curve, workload, batch)
    steps, new = float(workload.decode_steps.mean()), float(workload.uncached_input_tokens.mean())
    steps, new = (0.0 if pool.role == "prefill" else steps), (0.0 if pool.role == "decode" else new)
    budget = float(pool.token_budget)
    alone = pool.order == "prefill_first" or steps == 0
    room = budget if alone else max(budget - batch, 1.0)
    prompt_steps = 0.0 if new == 0 else max(new / room, 1.0 / pool.max_batch)
    own_prefill = workload.own_prefill_seconds(curve, room) if new else np.zeros(len(workload))
    own_decode = float(workload.own_decode_seconds(curve).mean()) if steps else 0.0
    beyond = bool(curve.domain.outside("batch", np.asarray(batch))) or bool(
        curve.domain.outside("context", np.asarray(workload.held_tokens))
    )
    if new:
        prompts = workload.uncached_input_tokens, workload.cached_tokens
        beyond = beyond or not bool(prompts_measured(curve.domain, *prompts, pool.token_budget).all())
    decode_steps = steps / batch
    if alone:
        shared = prompt_steps * _shared(curve, new / prompt_steps if prompt_steps else 0.0)
        shared += decode_steps * _shared(curve, batch)
        all_steps = decode_steps if steps else prompt_steps
    else:
        all_steps = max(decode_steps, prompt_steps)
        shared = all_steps * _shared(curve, (steps + new) / all_steps)
    decode = own_decode + (decode_steps * _shared(curve, batch) if steps else 0.0)
    corrected = decode * (_residual(curve, batch, workload.held_tokens) - 1.0) if steps else 0.0
    request_seconds = float(own_prefill.mean()) + own_decode + shared + corrected
    at_once = steps / all_steps if steps else 0.0
    ttft = _ttft(curve, workload, own_prefill, room, 0.0 if alone else at_once) if new else None
    return Steady(max(at_once, 1.0), request_seconds, request_seconds / all_steps, ttft, beyond)


def operating_point(curve: Curve, pool: Pool, workload: Workload, targets: Targets = NO_TARGETS) -> Operating | None:
    """The whole batch of most requests a second that fits and holds the targets; None where even the smallest breaks them.

    Looks at the largest batch that holds (paces only grow with the batch) and at some twenty below it, measured ones of a table included.
    Of many requests some stand for all (`Workload.thinned`). The cache has room for floor(C / mean tokens held) sequences: long ones
    among short ones may still preempt.
    """
    workload = workload.thinned()
    low, high = curve.measured_batches(workload.held_tokens)
    bounds = {"max_batch": pool.max_batch, "measured_range": int(high)}
    room = kv_room(curve, pool, workload)
    if room is not None:
        bounds["kv"] = room
    most, limit = min((value, name) for name, value in bounds.items())
    least = max(1, int(np.ceil(low)))
    known: dict[int, Steady] = {}

    def at(batch: int) -> Steady:
        if batch not in known:
            known[batch] = steady(curve, pool, workload, batch)
        return known[batch]

    if most < least or _broken(curve, at(least), targets):
        return None
    holds, fails = least, most + 1
    while fails - holds > 1:
        middle = (holds + fails) // 2
        broken = _broken(curve, at(middle), targets)
        holds, fails, limit = (holds, middle, broken) if broken else (middle, fails, limit)
    few = {int(one) for one in np.geomspace(least, holds, 20).round()}
    if not isinstance(curve, StepCurve):
        few |= {int(one) for one in curve.steps.batch if one == int(one) and least <= one <= holds}
    best = min(sorted(few | {holds}), key=lambda batch: at(batch).request_seconds)
    if at(holds).batch < holds * (1 - 1e-9):
        return Operating(at(best), "token_budget")
    return Operating(at(best), limit if best == holds else "none")


def kv_room(curve: Curve, pool: Pool, workload: Workload) -> int | None:
    """Sequences that the cache holds, of mean length or, where they are admitted by it, of mean peak; None where its size is not stated."""
    held = max(workload.peak_tokens if pool.admission == "peak" else workload.held_tokens, 1.0)
    if pool.kv_capacity_tokens is not None:
        return int(pool.kv_capacity_tokens // held)
    return None if curve.memory is None else curve.memory.achievable_batch(int(np.ceil(held)))


def _broken(curve: Curve, one: Steady, targets: Targets) -> str | None:
    if targets.itl_seconds is not None and one.itl_seconds > targets.itl_seconds:
        return "itl"
    if targets.ttft_seconds is None:
        return None
    if one.ttft_seconds is None:
        raise InvalidInput(
            "ttft_seconds", targets.ttft_seconds, f"curve {curve.header.curve_id} does not say when a first token comes"
        )
    return "ttft" if one.ttft_seconds > targets.ttft_seconds else None


def _shared(curve: StepCurve, tokens: float) -> float:
    return curve.t_0 + curve.e * float(curve.coverage(np.asarray(tokens)))


def _residual(curve: StepCurve, batch: float, context: float) -> float:
    return 1.0 if curve.residual is None else float(curve.residual.at(np.asarray(batch), np.asarray(context)))


def _ttft(curve: StepCurve, workload: Workload, own: np.ndarray, room: float, beside: float) -> float:
    """95th percentile over prompts of their chunks beside the decoding ones, and their own work."""
    chunks = np.maximum(np.ceil(workload.uncached_input_tokens / room), 1.0)
    decoding = beside * (curve.a + curve.c * workload.held_tokens)
    tokens = beside + np.minimum(workload.uncached_input_tokens, room)
    return float(np.quantile(chunks * (curve.t_0 + decoding) + curve.e * chunks * curve.coverage(tokens) + own, 0.95))


def _served(curve: Curve, workload: Workload, batch: float) -> Steady:
    at = curve.answer(batch, workload.held_tokens, "flag")
    step = float(at.step_seconds)
    steps = float(workload.decode_steps.mean())
    if steps == 0:
        raise InvalidInput("output_tokens", 1, f"curve {curve.header.curve_id} is a table of served decode steps")
    first = float(at.ttft_seconds)
    return Steady(batch, steps / batch * step, step, None if np.isnan(first) else first, bool(at.extrapolated))
