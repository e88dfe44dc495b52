"""Has the cost of a pinned curve moved, and was it the engine or the machine? Its reference points measured again, then against now, with
an interval; and, where both sides have the machine's pace beside them, the pace itself and the points in units of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from probe.curve.schema import Point, ResultFile, Sample
from probe.fit.student import Mean, difference, mean_of
from probe.measure.describe import device_info, model_info
from probe.measure.errors import MeasureRefused
from probe.measure.judge import PACE_SHARE, comparable, judged, limit_of
from probe.measure.pace import pace_of
from probe.measure.rig import Rig, rig_of
from probe.measure.shapes import Shape
from probe.measure.visit import Visiting, Visitor
from probe.measure.watch import QUIET_SHARE

Rounds = Mapping[int, float]
"""Round -> seconds."""
Value = Callable[[Sample], float | None]


@dataclass(frozen=True)
class Change:
    """A shape's time now over then, less 1. Attributes: low, high: of the 95 % interval."""

    name: str
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class Drift:
    """Attributes: overall: geometric mean over the shapes. moved: the interval lies wholly beyond the tolerance. noisy: shapes without
    a clean sample now. machine: of a fixed piece of work beside the shapes; engine: of the shapes' time in units of that work. None:
    one side has no pace."""

    changes: list[Change]
    overall: Change
    tolerance: float
    noisy: list[str]
    machine: Drift | None = None
    engine: Drift | None = None

    @property
    def moved(self) -> bool:
        return self.overall.low > self.tolerance or self.overall.high < -self.tolerance

    @property
    def verdict(self) -> str:
        return self._verdict("cost")

    def _verdict(self, what: str) -> str:
        one = self.overall
        interval = f"{one.change:+.1%} [{one.low:+.1%}, {one.high:+.1%}]"
        if self.moved:
            return f"{what} moved: {interval}"
        inside = -self.tolerance <= one.low and one.high <= self.tolerance
        return f"{what} did not move: {interval}" if inside else f"can't tell whether {what} moved: {interval}"

    def lines(self) -> list[str]:
        """What the command prints."""
        shown = [f"{one.name}: {one.change:+.1%} [{one.low:+.1%}, {one.high:+.1%}]" for one in self.changes]
        noisy = [f"contaminated, not compared: {', '.join(self.noisy)}"] if self.noisy else []
        verdict = f"{self.verdict} (95 % interval between rounds, tolerance {self.tolerance:.1%})"
        twice = ["what slowed a whole run is in no interval: measure again before you act on it"] if self.moved else []
        return [*shown, *noisy, *self._whose(), verdict, *twice]

    def _whose(self) -> list[str]:
        """Whether the engine or the machine is slower."""
        if self.machine is None or self.engine is None:
            return [
                "whether the machine itself is slower is not known: its pace was not taken then and now, by the same piece of work"
            ]
        return [
            self.machine._verdict("the machine's own pace (seconds of a fixed piece of work)"),
            self.engine._verdict("the engine's cost at equal pace"),
        ]


@dataclass(frozen=True)
class Again:
    """How to measure again. Attributes: tolerance: changes below it are no drift. pace_share: a visit is out when the machine was slower
    by more than beside the quicker ones of now; 0: its pace isn't asked. other_device: may differ from the file's."""

    rounds: int = 5
    tolerance: float = 0.02
    seed: int = 1
    quiet_share: float = QUIET_SHARE
    pace_share: float = PACE_SHARE
    other_device: bool = False


def check(result: ResultFile, how: Again) -> Drift:
    """Builds the setup of the file again and measures. Raises MeasureRefused where model or device aren't those of the file."""
    if result.run.via != "in_process":
        raise MeasureRefused(
            "run.via", result.run.via, "only what `tokencogs probe run` measured can be measured again"
        )
    options = {name: value for name, value in result.engine.options.items() if name != "torch"}
    rig = rig_of(options)
    if (now := model_info(rig).model_hash) != result.model.model_hash:
        raise MeasureRefused("model_hash", now, f"the curve is of {result.model.model_hash}")
    if not how.other_device and (gpu := device_info(rig).gpu) != result.device.gpu:
        raise MeasureRefused("device.gpu", gpu, f"the curve was measured on {result.device.gpu}")
    return measure_again(result, rig, how)


def measure_again(result: ResultFile, rig: Rig, how: Again) -> Drift:
    """Reference shapes in interleaved rounds on a rig that is there already."""
    shapes = reference_shapes(result.points)
    visiting = Visiting(warm_up=result.run.warm_up or 2, quiet_share=how.quiet_share)
    for shape in shapes:
        if not rig.limits.lets(shape, visiting.warm_up + visiting.steps):
            raise MeasureRefused("points", shape.name, f"the engine of this file can't hold it: {rig.limits}")
    visitor = Visitor(rig.engine, how.seed, visiting, pace_of(rig, how.quiet_share) if how.pace_share else None)
    visits = [(shape, visitor.visit(shape, number)) for number in range(how.rounds) for shape in shapes]
    limit = limit_of([samples for _, samples in visits], how.pace_share)
    now: dict[Shape, list[Sample]] = {shape: [] for shape in shapes}
    for shape, samples in visits:
        now[shape] += judged(samples, limit)
    then = {shape: samples_of(shape, comparable(result)) for shape in shapes}
    return compared(then, now, how.tolerance)


def compared(then: dict[Shape, list[Sample]], now: dict[Shape, list[Sample]], tolerance: float) -> Drift:
    """Cost, and apart from it the machine's pace and the engine's cost in units of it. Raises as `compare` does."""

    def change(value: Value) -> Drift:
        before, after = ({shape: by_round(found, value) for shape, found in side.items()} for side in (then, now))
        return compare(before, after, tolerance)

    cost = change(seconds_of)
    paced = [shape for shape in now if by_round(then.get(shape, []), pace_beside) and by_round(now[shape], pace_beside)]
    return replace(cost, machine=change(pace_beside), engine=change(at_pace)) if paced else cost


def seconds_of(sample: Sample) -> float | None:
    return sample.seconds


def pace_beside(sample: Sample) -> float | None:
    return sample.pace


def at_pace(sample: Sample) -> float | None:
    """Seconds in units of the fixed work beside it."""
    return None if sample.pace is None else sample.seconds / sample.pace


def reference_shapes(points: Sequence[Point]) -> list[Shape]:
    """Corners of the decode grid and the longest prompt that met nothing: each stands for a term of the curve."""
    even = [p for p in points if p.kind == "decode" and not p.ragged and p.n > 0]
    prompts = [p for p in points if p.kind == "prefill" and not p.cached and p.n > 0]
    if not even:
        raise MeasureRefused("points", 0, "the file has no even decode step with a clean sample")
    few = min(even, key=lambda p: (p.batch, p.context_sum))
    many = max(even, key=lambda p: (p.batch, -p.context_sum))
    full = max(even, key=lambda p: p.context_sum)
    found = [Shape("decode", (round(p.context_sum / p.batch),) * p.batch) for p in (few, many, full)]
    if prompts:
        longest = max(prompts, key=lambda p: p.new)
        found.append(Shape("prefill", (), ((longest.new, 0),)))
    return list(dict.fromkeys(found))


def samples_of(shape: Shape, samples: Sequence[Sample]) -> list[Sample]:
    """A shape's samples of a file: its even batch at contexts around its own, its prompts."""
    reach = max(8, max(shape.contexts, default=0) // 20)
    found = []
    for one in samples:
        same = one.kind == shape.kind and len(one.contexts) == len(shape.contexts) and len(set(one.contexts)) <= 1
        near = not shape.contexts or (bool(one.contexts) and abs(one.contexts[0] - shape.contexts[0]) <= reach)
        if same and near and tuple(tuple(pair) for pair in one.prefills) == shape.prefills:
            found.append(one)
    return found


def by_round(samples: Sequence[Sample], value: Value) -> Rounds:
    """Round -> the median of its clean samples: steps of one visit are alike, so rounds are what an interval goes by."""
    rounds: dict[int, list[float]] = {}
    for one in samples:
        number = value(one)
        if not one.contaminated and number is not None:
            rounds.setdefault(one.round, []).append(number)
    return {number: float(np.median(seconds)) for number, seconds in sorted(rounds.items())}


def compare(then: dict[Shape, Rounds], now: dict[Shape, Rounds], tolerance: float) -> Drift:
    """Changes of shapes that have clean rounds on both sides, with Student's interval of the mean log times' difference. A round's shapes
    were measured one after the other, so what slowed one of them slowed them all: over all shapes a round is one value. What lasts for a
    whole run is in no interval. Raises MeasureRefused where no shape has clean rounds on both sides."""
    shapes = [shape for shape in now if then.get(shape) and now[shape]]
    if not shapes:
        raise MeasureRefused(
            "contaminated", [s.name for s in now], "no reference shape has a clean round; measure on a quiet machine"
        )
    changes = [_change(shape.name, [now[shape]], [then[shape]]) for shape in shapes]
    overall = _change("all", [now[shape] for shape in shapes], [then[shape] for shape in shapes])
    return Drift(changes, overall, tolerance, [shape.name for shape in now if shape not in shapes])


def _change(name: str, now: Sequence[Rounds], then: Sequence[Rounds]) -> Change:
    exact, low, high = difference(_side(now), _side(then))
    return Change(name, float(np.expm1(exact)), float(np.expm1(low)), float(np.expm1(high)))


def _side(shapes: Sequence[Rounds]) -> Mean:
    """Mean log seconds of the shapes, and how each round lay beside it."""
    logs = [{number: float(np.log(seconds)) for number, seconds in rounds.items()} for rounds in shapes]
    centres = [float(np.mean(list(rounds.values()))) for rounds in logs]
    beside: dict[int, list[float]] = {}
    for rounds, centre in zip(logs, centres, strict=True):
        for number, log in rounds.items():
            beside.setdefault(number, []).append(log - centre)
    return mean_of(float(np.mean(centres)), [float(np.mean(of_round)) for of_round in beside.values()])
