"""How quick is the machine while a replay runs? As the engine itself says, by steps at which the curve was measured.

A virtual machine is a tenth quicker or slower for seconds, and not for all work alike: small batches may keep their time while large ones
lose it, and products of a fixed size tell neither. So the shapes of the file that the replay's predicted steps are nearest to are visited
again between its steps, in the same engine, and compared with what the file says they took. What a served step costs beyond a laid one,
which the replay is to show, stays in the comparison.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from probe.curve.schema import Point
from probe.engine.engine import Engine
from probe.measure.errors import MeasureRefused, NotAsPlanned
from probe.measure.shapes import Shape, decode, mixed, prefill
from probe.measure.simulate import Part, Served
from probe.measure.visit import Visiting, Visitor

Steps = list[tuple[float, list[Part]]]
# Points of a kind: one alone may be off by as much as the machine is.
_NEAREST = 2


@dataclass(frozen=True)
class Mark:
    """A shape of the file. Attributes: seconds: that it took there. share: of the predicted steps' time, spent in steps like it."""

    shape: Shape
    seconds: float
    share: float


class Yardstick:
    """Visits marks anew, with prompts drawn from `seed`."""

    def __init__(self, engine: Engine, marks: Sequence[Mark], seed: int) -> None:
        self.marks = marks
        self._engine, self._visitor = engine, Visitor(engine, seed, Visiting(steps=3, warm_up=2))

    def tick(self) -> float | None:
        """How many times as long as in the file the marks take now, by their shares. None where somebody disturbed, or the cache has no
        room beside the requests that are served."""
        scheduler = self._engine.scheduler
        running, waiting = scheduler.running, scheduler.waiting
        scheduler.running, scheduler.waiting = [], deque()
        try:
            found = [(mark, self._visitor.visit(mark.shape)) for mark in self.marks]
        except (MeasureRefused, NotAsPlanned):
            return None
        finally:
            scheduler.running, scheduler.waiting = running, waiting
        clean = [[one.seconds for one in samples if not one.contaminated] for _, samples in found]
        if not all(clean):
            return None
        now = [statistics.median(seconds) for seconds in clean]
        return sum(mark.share * seconds / mark.seconds for mark, seconds in zip(self.marks, now, strict=True))

    def said(self) -> str:
        return " and ".join(mark.shape.name for mark in self.marks)


def marks_of(points: Sequence[Point], predicted: Served) -> list[Mark]:
    """The measured even decode steps that the predicted ones are nearest to, and the steps with a prompt, with their shares of the time.
    Empty where the file has neither of what is predicted."""
    kinds: dict[bool, Steps] = {False: [], True: []}
    for seconds, parts in predicted.steps:
        if parts:
            kinds[any(part.prompt for part in parts)].append((seconds, parts))
    found = []
    for prompts, near in ((False, _decode_points), (True, _prompt_points)):
        picked = near(points, kinds[prompts])[:_NEAREST] if kinds[prompts] else []
        found += [(point, sum(seconds for seconds, _ in kinds[prompts]) / len(picked)) for point in picked]
    whole = sum(seconds for _, seconds in found)
    return [Mark(_shape(point), point.seconds, seconds / whole) for point, seconds in found]


def _shape(point: Point) -> Shape:
    context = round(point.context_sum / point.batch) if point.batch else 0
    if not point.new:
        return decode(point.batch, context)
    return mixed(point.batch, context, point.new, point.cached) if point.batch else prefill(point.new, point.cached)


def _decode_points(points: Sequence[Point], steps: Steps) -> list[Point]:
    batch = _mean(steps, len)
    context = _mean(steps, lambda parts: sum(part.past + part.new for part in parts) / len(parts))
    even = [p for p in points if p.kind == "decode" and not p.ragged and p.n > 0]
    return sorted(even, key=lambda p: _apart((p.batch, batch), (p.context_sum / p.batch, context)))


def _prompt_points(points: Sequence[Point], steps: Steps) -> list[Point]:
    new = _mean(steps, lambda parts: sum(part.new for part in parts if part.prompt))
    batch = _mean(steps, lambda parts: sum(not part.prompt for part in parts))
    one = [
        p for p in points if p.kind in ("mixed", "prefill") and p.n > 0 and p.pairs == p.new * (p.cached + p.new / 2)
    ]
    return sorted(one, key=lambda p: _apart((p.new, new), (p.batch + 1, batch + 1)))


def _mean(steps: Steps, of: Callable[[list[Part]], float]) -> float:
    """By time."""
    return sum(seconds * of(parts) for seconds, parts in steps) / sum(seconds for seconds, _ in steps)


def _apart(*pairs: tuple[float, float]) -> float:
    return sum(abs(math.log(one / other)) for one, other in pairs)
