"""Does the engine take what the curve predicts, end to end? One list of arrivals through both, at half and at 80 % of capacity."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from probe.curve.curve import CurveDocument
from probe.curve.schema import ResultFile
from probe.engine.engine import Engine
from probe.engine.interfaces import SamplingParams
from probe.fit.errors import error_of
from probe.measure import watch
from probe.measure.clock import Clock, clock_of
from probe.measure.rig import Rig
from probe.measure.simulate import Books, Part, Served, simulate, step_seconds
from probe.measure.traffic import Arrival, Lengths, at_rate, draw_arrivals
from probe.measure.warm import warm
from probe.measure.yardstick import Yardstick, marks_of

LOADS = (0.5, 0.8)
_MOST, _ATTEMPTS = 2_000, 3
# Of a replay's steps, in time, that may go at another pace than the curve's: beyond that they say more of the machine than of the curve.
_STRAYED = 0.2
# Kernels are warmed for steps so much larger than predicted ones: a replay that is slower has more at once.
_MARGIN = 1.5


@dataclass(frozen=True)
class Figure:
    """One figure at one load, predicted and measured."""

    load: float
    name: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1.0


def replay(engine: Engine, arrivals: Sequence[Arrival], seed: int, now: Clock) -> Served:
    """Serves the list, `at` in seconds of the clock, with prompts drawn anew. Answers have the lengths asked for."""
    draw, vocabulary = random.Random(seed), engine.runner.model.config.vocab_size
    prompts = [draw.choices(range(vocabulary), k=one.input_tokens) for one in arrivals]
    coming = deque(enumerate(arrivals))
    last: dict[str, float] = {}
    served, begun = Served(), now()
    while coming or engine.has_unfinished:
        before = now() - begun
        while coming and coming[0][1].at <= before:
            number, one = coming.popleft()
            params = SamplingParams(max_tokens=one.output_tokens, temperature=0.0, ignore_eos=True)
            engine.add_request(prompts[number], params, str(number))
        if not engine.has_unfinished:
            now.wait(coming[0][1].at - before)
            continue
        step = engine.step()
        now.stepped()
        after = now() - begun
        served.busy_seconds += after - before
        ran = () if step.record is None else step.record.requests
        served.steps.append(
            (after - before, [Part(one.num_new_tokens, one.num_past_tokens, one.kind == "prefill") for one in ran])
        )
        for output in step.outputs:
            if output.request_id in last:
                served.itl.append(after - last[output.request_id])
            else:
                served.ttft.append(after - arrivals[int(output.request_id)].at)
            last[output.request_id] = after
    served.seconds = now() - begun
    return served


def capacity(curve: CurveDocument, arrivals: Sequence[Arrival], books: Books) -> float:
    """Requests a second of the curve when all of the list are there at once."""
    saturated = simulate(curve, [one._replace(at=0.0) for one in arrivals], books)
    return len(arrivals) / saturated.seconds


def figures(load: float, predicted: Served, measured: Served) -> list[Figure]:
    """GPU-seconds, median time to the first token, median gap between tokens; no gap where every answer is one token."""
    pairs = {"gpu_seconds": (predicted.busy_seconds, measured.busy_seconds)}
    for name, one, other in (("ttft_p50", predicted.ttft, measured.ttft), ("itl_p50", predicted.itl, measured.itl)):
        if one and other:
            pairs[name] = float(np.median(one)), float(np.median(other))
    return [Figure(load, name, *pair) for name, pair in pairs.items()]


def own_steps(curve: CurveDocument, served: Served) -> float:
    """Error of the curve on the steps that were served, in all: what there is before queues multiply it. Near saturation a step that
    takes 5 % longer meets longer queues and larger batches, and a median gap grows by 10 to 15 %."""
    predicted = sum(step_seconds(curve, parts) for _, parts in served.steps if parts)
    return predicted / sum(seconds for seconds, parts in served.steps if parts) - 1.0


def largest(served: Served) -> tuple[int, int]:
    """Most tokens and most sequences of a step."""
    parts = [parts for _, parts in served.steps]
    return max(sum(part.new for part in one) for one in parts), max(len(one) for one in parts)


def books_of(rig: Rig) -> Books:
    """The scheduler's books as the rig's engine keeps them."""
    manager = rig.engine.manager
    return Books(rig.engine.scheduler.config, manager.num_blocks, manager.block_size, manager.windows)


def with_replay(
    result: ResultFile, rig: Rig, seconds: float, arrivals: Sequence[Arrival] | None = None, seed: int = 0
) -> ResultFile:
    """The file with the fit's error `replay` over three figures at two loads, and a note for each. `seconds`: of one replay, about. It goes
    at the pace at which the curve was measured; in real time where the file knows none."""
    assert result.curve is not None
    assert result.fit is not None
    curve, books = CurveDocument.of(result.curve), books_of(rig)
    if arrivals is None:
        lengths = _lengths(rig)
        rate = capacity(curve, draw_arrivals(64, lengths, seed), books)
        arrivals = draw_arrivals(max(16, min(_MOST, round(rate * LOADS[-1] * seconds))), lengths, seed)
    most, found, notes, disturbed = capacity(curve, arrivals, books), [], [], False
    tokens, sequences = largest(simulate(curve, at_rate(arrivals, most * LOADS[-1]), books))
    warm(rig, round(_MARGIN * tokens), round(_MARGIN * sequences))
    for load in LOADS:
        listed = at_rate(arrivals, most * load)
        predicted = simulate(curve, listed, books)
        start = partial(clock_of, rig.threads, yardstick_of(result, rig, predicted, seed))
        measured, said, noise = quiet_replay(rig, listed, seed, start)
        at_load = figures(load, predicted, measured)
        found += at_load
        disturbed = disturbed or bool(noise)
        shown = ", ".join(f"{f.name} {f.predicted:.4g} s for {f.measured:.4g} s ({f.error:+.1%})" for f in at_load)
        shown += f", its own steps as the curve prices them ({own_steps(curve, measured):+.1%})"
        notes.append(
            f"replay of {len(arrivals)} requests at {load:.0%} of {most:.3g} a second: {shown}{'; '.join([said, *noise])}"
        )
    error = error_of(np.array([one.predicted for one in found]), np.array([one.measured for one in found]))
    fit = msgspec.structs.replace(
        result.fit,
        errors={**result.fit.errors, "replay": error},
        contaminated=[*(one for one in result.fit.contaminated if one != "replay"), *(["replay"] if disturbed else [])],
        notes=[*result.fit.notes, *notes],
    )
    return msgspec.structs.replace(result, fit=fit)


def yardstick_of(result: ResultFile, rig: Rig, predicted: Served, seed: int) -> Yardstick | None:
    """None where the file says nothing of the machine's pace (on a GPU, or where that was not asked), or has no step like the predicted."""
    marks = [] if result.run.pace is None else marks_of(result.points, predicted)
    return Yardstick(rig.engine, marks, seed) if marks else None


def quiet_replay(
    rig: Rig, arrivals: Sequence[Arrival], seed: int, start: Callable[[], Clock]
) -> tuple[Served, str, list[str]]:
    """The first replay that nothing disturbed, else the last one; what its clock says, and what disturbed it."""
    for attempt in range(_ATTEMPTS):
        begin, waited, clock = watch.read(), watch.waited(), start()
        served = replay(rig.engine, arrivals, seed + attempt, clock)
        waited = watch.waited() - waited
        others = watch.contaminated(begin, watch.read()) or waited > watch.QUIET_SHARE * served.busy_seconds
        noise = [f"others used the machine meanwhile, its clock stood still for {waited:.2g} s"] if others else []
        if clock.strayed() > _STRAYED:
            noise.append("the machine did not keep the curve's pace: contaminated")
        if not noise:
            break
    return served, clock.said(), noise


def _lengths(rig: Rig) -> Lengths:
    """The usual ones, cut to what a request may hold."""
    usual, most = Lengths(), rig.limits.max_model_len // 2
    return Lengths(
        (min(usual.input_tokens[0], most), min(usual.input_tokens[1], most)),
        (min(usual.output_tokens[0], most), min(usual.output_tokens[1], most)),
    )
