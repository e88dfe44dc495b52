"""What would a list of requests take on the curve? The engine's own scheduler and block books run, and the curve says each step's time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.grid import Floats
from probe.engine.interfaces import SamplingParams
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.sequence import Sequence as Held
from probe.engine.scheduler import Schedule, Scheduler, SchedulerConfig
from probe.measure.errors import MeasureRefused
from probe.measure.traffic import Arrival


class Part(NamedTuple):
    """One request's part of a step: `new` tokens behind `past`, of a prompt or of an answer."""

    new: int
    past: int
    prompt: bool


@dataclass
class Served:
    """What became of a list: busy seconds of all steps, the clock at the end, by request when tokens came, and each step's seconds and
    parts."""

    busy_seconds: float = 0.0
    seconds: float = 0.0
    ttft: list[float] = field(default_factory=list)
    itl: list[float] = field(default_factory=list)
    steps: list[tuple[float, list[Part]]] = field(default_factory=list)


@dataclass(frozen=True)
class Books:
    """What the scheduler knows of an engine. Attributes: windows: of each KV group, None: sees all."""

    scheduler: SchedulerConfig
    num_blocks: int
    block_size: int
    windows: tuple[int | None, ...] = (None,)


def simulate(curve: CurveDocument, arrivals: Sequence[Arrival], books: Books) -> Served:
    """Arrivals with `at` in seconds. Raises MeasureRefused where the curve has no steps of its own (form=table), RequestRefused where
    a request could never run."""
    if curve.terms is None:
        raise MeasureRefused("curve.form", curve.file.get("form"), "a simulation needs a curve of form=step")
    manager = BlockManager(books.num_blocks, books.block_size, books.windows, enable_prefix_caching=False)
    scheduler = Scheduler(books.scheduler, manager)
    coming = deque(enumerate(arrivals))
    came, last = {f"{i}": one.at for i, one in coming}, dict[str, float]()
    served, now = Served(), 0.0
    while coming or scheduler.has_unfinished:
        while coming and coming[0][1].at <= now:
            number, one = coming.popleft()
            params = SamplingParams(max_tokens=one.output_tokens, temperature=0.0, ignore_eos=True)
            scheduler.add(Held(f"{number}", [0] * one.input_tokens, params))
        if not scheduler.has_unfinished:
            now = coming[0][1].at
            continue
        plan = scheduler.schedule()
        if not plan.scheduled:
            raise MeasureRefused("arrivals", len(arrivals), "the scheduler has requests and runs none")
        parts = [Part(one.num_new, one.num_past, one.in_prefill) for one in plan.scheduled]
        seconds = step_seconds(curve, parts)
        served.steps.append((seconds, parts))
        now += seconds
        served.busy_seconds += seconds
        for request in _advance(scheduler, plan):
            _note(served, request, came, last, now)
    served.seconds = now
    return served


def step_seconds(curve: CurveDocument, parts: Sequence[Part]) -> float:
    """Of one step, as the curve prices it: the residual corrects steps of decodes alone."""
    terms = curve.terms
    assert terms is not None
    decoding = [part for part in parts if not part.prompt]
    prompts = [part for part in parts if part.prompt]
    contexts = sum(part.past + part.new for part in decoding)
    work = sum(float(terms.prefill(_array(part.new), _array(part.past))) for part in prompts)
    tokens, batch = sum(part.new for part in parts), len(decoding)
    seconds = float(terms.seconds(_array(batch), _array(contexts), _array(work), _array(tokens)))
    if curve.residual is not None and not prompts:
        seconds *= float(curve.residual.at(_array(batch), _array(contexts / batch)))
    return seconds


def _array(value: float) -> Floats:
    return np.asarray(float(value))


def _advance(scheduler: Scheduler, plan: Schedule) -> list[str]:
    """Moves the sequences on as a step would; requests that got a token."""
    got = []
    for part in plan.scheduled:
        sequence, samples = part.sequence, part.samples
        if samples:
            sequence.token_ids.append(0)
            got.append(sequence.request_id)
        sequence.num_computed_tokens = part.num_past + part.num_new
        scheduler.manager.commit(sequence)
        if sequence.num_output_tokens >= sequence.params.max_tokens:
            scheduler.finish(sequence)
    return got


def _note(served: Served, request: str, came: dict[str, float], last: dict[str, float], now: float) -> None:
    """The first token of a request counts as TTFT from its arrival, every later one as a gap."""
    if request in last:
        served.itl.append(now - last[request])
    else:
        served.ttft.append(now - came[request])
    last[request] = now
