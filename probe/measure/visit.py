"""What did one shape take, this once? Contexts are laid, the shape is warmed up, each step is timed, and what ran is held to the plan."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass

from probe.curve.schema import Sample
from probe.engine.engine import Engine
from probe.engine.interfaces import RequestStep, StepOutput
from probe.engine.kv.sequence import Sequence
from probe.measure import watch
from probe.measure.errors import MeasureRefused, NotAsPlanned
from probe.measure.lay import lay_decoding, lay_prompt, scatter
from probe.measure.pace import TICKS, Pace
from probe.measure.shapes import Shape

_FEW = 3


@dataclass(frozen=True)
class Visiting:
    """How a shape is measured.

    Attributes:
        steps: timed ones a visit, odd, so that one is in the middle. warm_up: before them, every time.
        enough_seconds: three timed steps of prompts alone suffice when they took so long.
        quiet_share: a visit is contaminated when others took more of the machine, a step when it waited longer for a processor.
    """

    steps: int = 9
    warm_up: int = 2
    enough_seconds: float = 0.5
    quiet_share: float = watch.QUIET_SHARE

    def __post_init__(self) -> None:
        if self.steps < 1 or self.steps % 2 == 0:
            raise MeasureRefused("steps", self.steps, "an odd number from 1 is expected")
        if self.warm_up < 1:
            raise MeasureRefused("warm_up", self.warm_up, "the first step of a shape pays for what later ones don't")
        if not 0 < self.quiet_share <= 1:
            raise MeasureRefused("quiet_share", self.quiet_share, "a share above 0 is expected")


@dataclass(frozen=True)
class Timed:
    """One step. Attributes: seconds: of the engine's whole step, device synchronised. at: Unix time. noisy: it waited for a processor."""

    seconds: float
    contexts: list[int]
    at: float
    noisy: bool


class Visitor:
    """Measures shapes on one engine. Every prompt is drawn anew, so that nothing of an earlier one can be found in the cache.

    pace: of the machine, taken before and after each visit; None: not taken.
    """

    def __init__(self, engine: Engine, seed: int, how: Visiting | None = None, pace: Pace | None = None) -> None:
        self.engine, self.how, self.pace = engine, how or Visiting(), pace
        self._draw = random.Random(seed)
        self._vocabulary = engine.runner.model.config.vocab_size
        self._count = 0

    def visit(self, shape: Shape, round_number: int = 0, reference: bool = False) -> list[Sample]:
        """One sample a timed step, in order. Raises NotAsPlanned where the engine did something else, and leaves it empty then."""
        ticks, begin = self._ticks(), watch.read()
        try:
            timed = self._idle() if shape.kind == "idle" else self._steps(shape)
        finally:
            for sequence in list(self.engine.scheduler.running):
                self.engine.abort_request(sequence.request_id)
        noisy = watch.contaminated(begin, watch.read(), self.how.quiet_share)
        ticks += self._ticks()
        return [
            Sample(
                kind=shape.kind,
                seconds=one.seconds,
                contexts=one.contexts,
                prefills=list(shape.prefills),
                round=round_number,
                reference=reference,
                contaminated=noisy or one.noisy,
                pace=statistics.median(ticks) if ticks else None,
                at=one.at,
            )
            for one in timed
        ]

    def _steps(self, shape: Shape) -> list[Timed]:
        total = self.how.warm_up + self.how.steps
        first = [context - self.how.warm_up - self.how.steps // 2 for context in shape.contexts]
        for length in first:
            if length < 2:
                least = self.how.warm_up + self.how.steps // 2 + 2
                raise MeasureRefused("context", min(shape.contexts), f"{least} is the least with so many steps a visit")
        decoding = [lay_decoding(self.engine, self._name(), self._tokens(length), total) for length in first]
        _no_hits(shape, decoding)
        scatter(self.engine.scheduler.running)
        timed = []
        for number in range(total):
            prompts = [lay_prompt(self.engine, self._name(), self._tokens(n + p), p) for n, p in shape.prefills]
            _no_hits(shape, prompts)
            contexts = [length + number for length in first]
            one, output = self._step(contexts)
            _hold(shape, output, contexts)
            if number >= self.how.warm_up:
                timed.append(one)
            if not decoding and len(timed) >= _FEW and sum(one.seconds for one in timed) > self.how.enough_seconds:
                break
        _ended(shape, output, len(decoding) + len(shape.prefills))
        return timed

    def _idle(self) -> list[Timed]:
        """Turns of the loop with nothing to do."""
        timed = []
        for _ in range(self.how.warm_up + self.how.steps):
            one, output = self._step([])
            timed.append(one)
            if output.record is not None:
                raise NotAsPlanned("idle", "requests", len(output.record.requests), 0)
        return timed[self.how.warm_up :]

    def _step(self, contexts: list[int]) -> tuple[Timed, StepOutput]:
        at, waited, begun = time.time(), watch.waited(), time.perf_counter()
        output = self.engine.step()
        seconds = time.perf_counter() - begun
        noisy = watch.waited() - waited > self.how.quiet_share * seconds
        return Timed(seconds, contexts, at, noisy), output

    def _ticks(self) -> list[float]:
        taken = [] if self.pace is None else [self.pace.tick() for _ in range(TICKS)]
        return [one for one in taken if one is not None]

    def _name(self) -> str:
        self._count += 1
        return f"measure-{self._count}"

    def _tokens(self, length: int) -> list[int]:
        return self._draw.choices(range(self._vocabulary), k=length)


def _no_hits(shape: Shape, sequences: list[Sequence]) -> None:
    """Nothing was found in the prefix cache: a warm cache would show a setup that no user has."""
    hits = sum(sequence.num_cached_tokens or 0 for sequence in sequences)
    if hits:
        raise NotAsPlanned(shape.name, "prefix_hits", hits, 0)


def _hold(shape: Shape, output: StepOutput, contexts: list[int]) -> None:
    """Every sequence took part, at its context, with one token out, and no other did."""
    planned: list[tuple[str, int, int, int]] = [("decode", 1, context - 1, 1) for context in contexts]
    planned += [("prefill", new, cached, 1) for new, cached in shape.prefills]
    ran = [] if output.record is None else [_part(one) for one in output.record.requests]
    if sorted(ran) != sorted(planned):
        raise NotAsPlanned(shape.name, "(kind, new, past, output) of requests", sorted(ran), sorted(planned))


def _part(one: RequestStep) -> tuple[str, int, int, int]:
    return one.kind, one.num_new_tokens, one.num_past_tokens, one.num_output_tokens


def _ended(shape: Shape, output: StepOutput, count: int) -> None:
    """Output lengths were fixed: all sequences end with the last step, by length."""
    reasons = [one.finish_reason for one in output.outputs]
    if reasons != ["length"] * count:
        raise NotAsPlanned(shape.name, "finish_reason", reasons, ["length"] * count)
