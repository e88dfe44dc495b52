"""How long does a step of the measured engine take, and what does it answer: throughput, time to first token, time between tokens?

Formulas: README.md, "Time". Seconds throughout. `outside` says what happens beyond the measured range: "refuse" raises, "flag" answers
and marks the point.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import Bools, Floats
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.memory import Memory

Outside = Literal["refuse", "flag"]
Range = tuple[float, float]


@dataclass(frozen=True)
class Domain:
    """What was measured, bounds included. Attributes: tokens; None where an axis was not swept."""

    batch: Range
    context: Range
    prefill_new: Range | None = None
    prefill_cached: Range | None = None

    def outside(self, axis: str, values: Floats) -> Bools:
        """Which values lie beyond the measured ones; an axis that was not swept rules nothing out."""
        bounds: Range | None = getattr(self, axis)
        if bounds is None:
            return np.zeros(np.shape(values), np.bool_)
        return np.asarray((values < bounds[0]) | (values > bounds[1]))


def prompts_measured(domain: Domain, new: Any, cached: Any, token_budget: Any) -> Bools:
    """Which prompts lie within what was measured: in one step, or else in chunks of the budget, each with what it finds in the cache.

    A prompt of n new tokens upon p cached ones has K = ceil(n / budget) equal chunks; the last finds p + n - n/K.
    """
    most, found = (np.inf if bounds is None else bounds[1] for bounds in (domain.prefill_new, domain.prefill_cached))
    chunks = np.maximum(-(-new // token_budget), 1)
    whole = (new <= most) & (cached <= found)
    chunked = (np.minimum(new, token_budget) <= most) & (cached + new - new / chunks <= found)
    return np.asarray(whole | chunked)


@dataclass(frozen=True)
class Header:
    """What was measured, where and when.

    Attributes:
        curve_id: names it on every charge.
        floor: composed from kernel times: about half of served time at saturation; never a price by itself.
        behaviour_changing: quantised, evicting or truncating: the workload must be evaluated again before costs are compared.
        kl_divergence: against the unchanged model, mean over tokens; None where the weights are random or nothing was measured.
        errors: by kind ("mape", "bias", "p95", "max") on held-out points.
    """

    curve_id: str
    model: str
    engine: str
    gpu: str
    dtype: str
    measured_at: str
    floor: bool = False
    behaviour_changing: bool = False
    kl_divergence: float | None = None
    errors: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a curve says of one kind of point; arrays of the shape asked for.

    Attributes:
        step_seconds: one step of the batch; also the time between tokens (ITL).
        tokens_per_second: output of the whole batch.
        ttft_seconds: prefill of the context beside batch - 1 decoding sequences, without queueing; NaN where the form can't say.
        extrapolated: beyond the measured range, or where a table has a batch that no run had at that context.
        ttft_extrapolated: a prompt that long was not measured (`prompts_measured`): beside `extrapolated`, of the first token alone.
    """

    step_seconds: Floats
    tokens_per_second: Floats
    ttft_seconds: Floats
    extrapolated: Bools
    ttft_extrapolated: Bools


@dataclass(frozen=True)
class StepCurve:
    """form=step: t = t_0 + e*cov(T) + sum(a + c*s) + sum(d*n + f*n*(p + n/2) + r*p).

    Attributes:
        t_0: seconds of any step. a, c: of a decoding sequence, and of each token it holds. d, f, r: of a new prompt token, of a pair of
            new and earlier token, of a cached token.
        e: seconds of one expert touched; experts, experts_per_token: 0 for dense models.
        residual: measured over fitted decode step by batch and context; corrects answers, never shares.
    """

    header: Header
    domain: Domain
    t_0: float
    a: float
    c: float
    d: float
    f: float
    r: float
    e: float = 0.0
    experts: int = 0
    experts_per_token: int = 0
    residual: Grid | None = None
    memory: Memory | None = None
    form: Literal["step"] = "step"

    def __post_init__(self) -> None:
        for name in ("t_0", "a", "c", "d", "f", "r", "e"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise InvalidInput(f"parameters.{name}", value, "seconds, finite and not negative, are expected")
        if self.t_0 == 0:
            raise InvalidInput("parameters.t_0", self.t_0, "a step takes some time whatever is in it")
        if not 0 <= self.experts_per_token <= self.experts or (self.e > 0 and self.experts_per_token == 0):
            raise InvalidInput(
                "parameters.experts_per_token", self.experts_per_token, f"1 to {self.experts} is expected"
            )

    @property
    def moe(self) -> bool:
        """Whether experts are a part of the step."""
        return self.e > 0

    def measured_batches(self, context: float) -> Range:
        """Smallest and largest batch that were measured."""
        return self.domain.batch

    def coverage(self, tokens: Floats) -> Floats:
        """Expected experts that `tokens` of a step touch, E*(1 - (1 - k/E)^T); 0 for dense models."""
        if not self.moe:
            return np.zeros(np.shape(tokens))
        missed = 1.0 - self.experts_per_token / self.experts
        return np.asarray(self.experts * (1.0 - np.power(missed, tokens)))

    def shared_seconds(self, requests: Floats, contexts: Floats) -> Floats:
        """What a step costs for whoever is in it, beside own terms and experts: t_0, of shape ()."""
        return np.asarray(self.t_0)

    def step_seconds(self, decoding: Floats, contexts: Floats, prefill: Floats, tokens: Floats) -> Floats:
        """A step of `decoding` sequences with `contexts` tokens in all, prefill work of `prefill` seconds, `tokens` in the step."""
        return np.asarray(self.t_0 + self.e * self.coverage(tokens) + self.a * decoding + self.c * contexts + prefill)

    def prefill_seconds(self, new: Floats, cached: Floats) -> Floats:
        """Own work of a prompt in one chunk: d*n + f*n*(p + n/2) + r*p."""
        return np.asarray(self.d * new + self.f * new * (cached + new / 2) + self.r * cached)

    def saved_by_prefix(self, cached: Floats) -> Floats:
        """Seconds that finding p tokens in the cache saves a prompt of the same length: d*p + f*p^2/2 - r*p."""
        return np.asarray(self.d * cached + self.f * cached**2 / 2 - self.r * cached)

    def answer(self, batch: Any, context: Any, outside: Outside = "refuse", token_budget: int | None = None) -> Answer:
        """Step, throughput and first token at (batch, context)."""
        b, s, beyond = _points(self.domain, batch, context, outside)
        step = self.step_seconds(b, b * s, np.zeros_like(b), b)
        if self.residual is not None:
            step = step * self.residual.at(b, s)
        chunk = s if token_budget is None else np.maximum(token_budget - (b - 1), 1.0)
        chunks = np.ceil(s / chunk)
        beside = self.step_seconds(b - 1, (b - 1) * s, np.zeros_like(b), b - 1 + np.minimum(s, chunk))
        reread = self.r * chunk * chunks * (chunks - 1) / 2
        first = chunks * beside + self.prefill_seconds(s, np.zeros_like(s)) + reread
        return Answer(step, b / step, first, beyond, ~prompts_measured(self.domain, s, np.zeros_like(s), chunk))


@dataclass(frozen=True)
class TableCurve:
    """form=table: served points where no additive form fits. It prices with equal shares of a step, and says so.

    Attributes:
        steps: seconds between tokens over batch and context, as served (prefill of others included).
        first_token: seconds to the first token; None where it was not measured.
    """

    header: Header
    domain: Domain
    steps: Grid
    first_token: Grid | None = None
    memory: Memory | None = None
    form: Literal["table"] = "table"

    moe: bool = False
    e: float = 0.0
    a: float = 0.0
    c: float = 0.0
    r: float = 0.0

    def measured_batches(self, context: float) -> Range:
        """Smallest and largest batch that runs had at that context; none had one where the first is above the second."""
        low, high = self.steps.batches_at(np.asarray(context, np.float64))
        return float(low), float(high)

    def unmeasured(self, batch: Floats, context: Floats) -> Bools:
        """Where no run of so many sequences at such a context was served: the step is taken from runs of other batches."""
        low, high = self.steps.batches_at(context)
        return np.asarray((batch < low) | (batch > high))

    def coverage(self, tokens: Floats) -> Floats:
        """Experts are inside the served step."""
        return np.zeros(np.shape(tokens))

    def shared_seconds(self, requests: Floats, contexts: Floats) -> Floats:
        """The whole step: it is shared equally."""
        alive = np.maximum(requests, 1.0)
        return self.steps.at(alive, contexts / alive)

    def step_seconds(self, decoding: Floats, contexts: Floats, prefill: Floats, tokens: Floats) -> Floats:
        """A step of that batch at its mean context."""
        return self.shared_seconds(decoding, contexts)

    def prefill_seconds(self, new: Floats, cached: Floats) -> Floats:
        """No own work is known."""
        return np.zeros(np.shape(new))

    def answer(self, batch: Any, context: Any, outside: Outside = "refuse", token_budget: int | None = None) -> Answer:
        """Step, throughput and first token at (batch, context), between the served points."""
        b, s, beyond = _points(self.domain, batch, context, outside)
        hole = self.unmeasured(b, s)
        if outside == "refuse" and bool(hole.any()):
            at = ", ".join(f"{one:g}" for one in s[hole])
            raise InvalidInput("batch", b[hole].tolist(), f"no run had it at context {at}")
        step = self.steps.at(b, s)
        first = np.full_like(step, np.nan) if self.first_token is None else self.first_token.at(b, s)
        return Answer(step, b / step, first, beyond | hole, np.zeros_like(beyond))


Curve = StepCurve | TableCurve


def best_batch(
    curve: Curve,
    context: int,
    ttft_seconds: float | None = None,
    itl_seconds: float | None = None,
    token_budget: int | None = None,
) -> int | None:
    """R*: the measured batch of most tokens a second that fits the cache and holds both targets; None where none does.

    A target of first token can't be held by a table that did not measure it: that is refused.
    """
    low, high = curve.measured_batches(context)
    if curve.memory is not None:
        high = min(high, curve.memory.achievable_batch(context))
    batches = np.arange(np.ceil(low), np.floor(high) + 1)
    if not batches.size:
        return None
    found = curve.answer(batches, np.full(batches.shape, float(context)), "flag", token_budget)
    if ttft_seconds is not None and bool(np.isnan(found.ttft_seconds).any()):
        raise InvalidInput(
            "ttft_seconds", ttft_seconds, f"curve {curve.header.curve_id} did not measure time to first token"
        )
    held = np.ones(batches.shape, np.bool_)
    if itl_seconds is not None:
        held &= found.step_seconds <= itl_seconds
    if ttft_seconds is not None:
        held &= found.ttft_seconds <= ttft_seconds
    if not held.any():
        return None
    return int(batches[held][np.argmax(found.tokens_per_second[held])])


def _points(domain: Domain, batch: Any, context: Any, outside: Outside) -> tuple[Floats, Floats, Bools]:
    b, s = np.broadcast_arrays(np.asarray(batch, np.float64), np.asarray(context, np.float64))
    for axis, values in (("batch", b), ("context", s)):
        if not bool((np.isfinite(values) & (values >= 1)).all()):
            raise InvalidInput(axis, values.tolist(), "numbers from 1 are expected")
        beyond = domain.outside(axis, values)
        if outside == "refuse" and bool(beyond.any()):
            bounds = getattr(domain, axis)
            raise InvalidInput(axis, values[beyond].tolist(), f"measured from {bounds[0]:g} to {bounds[1]:g} only")
    return b, s, domain.outside("batch", b) | domain.outside("context", s)


PARAMETERS = tuple(one.name for one in fields(StepCurve) if one.name in ("t_0", "a", "c", "d", "f", "r", "e"))
