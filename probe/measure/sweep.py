"""How is a grid measured? In stages of interleaved rounds: a coarse grid, then where the fit is worst on what it hasn't seen.

    for each stage: plan, then rounds over its shapes in a drawn order, the reference shape between them; again what was contaminated;
        fit; stop when good enough
    not good enough: more rounds over all shapes, while the budget lasts

A stage lasts seconds, and so does a machine's mood: one that is a tenth quicker for large batches alone, or slower, while all shapes of a
stage are measured, bends the curve there, and neither the fixed work nor the reference shape tell. Rounds over all shapes spread each of
them over the rest of the run.

A machine that is disturbed stays so for seconds: of visits that came right after a slow one, four in five were slow too. So visits are
repeated when the stage's others are done. Every visit is in the journal before the next begins, and the order is drawn from the seed, so
a killed run goes on where it stopped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from probe.curve.schema import Point, Sample
from probe.fit.fit import fit
from probe.fit.model import Experts
from probe.measure.errors import MeasureRefused
from probe.measure.journal import Journal, Place, contaminated
from probe.measure.judge import PACE_SHARE, judged, limit_of
from probe.measure.plan import Fits, refine
from probe.measure.shapes import Shape, unique
from probe.measure.summary import points_of

Visit = Callable[[Shape, int, bool], list[Sample]]
REFERENCE_ROUND = -1


@dataclass(frozen=True)
class Settings:
    """How long and how often.

    Attributes:
        budget_seconds: of measuring, over all attempts of the run. target: held-out error (leave-one-batch MAPE) to stop at.
        rounds: of each stage. reference_every: visits between two of the reference shape. retries: of a contaminated visit.
        adaptive: False measures the given shapes only. stages: at most so many with shapes of their own. more: at most so many rounds
            over all shapes when these did not reach the target.
        keep_contaminated: a shape without a clean sample has a point of contaminated ones, marked as such.
        pace_share: a visit is contaminated when the machine was slower by more than its own quicker visits show it; 0: not asked.
    """

    budget_seconds: float
    target: float = 0.05
    rounds: int = 3
    reference_every: int = 8
    retries: int = 2
    adaptive: bool = True
    stages: int = 8
    more: int = 8
    seed: int = 0
    keep_contaminated: bool = False
    pace_share: float = PACE_SHARE

    def __post_init__(self) -> None:
        if self.pace_share < 0:
            raise MeasureRefused(
                "pace_share", self.pace_share, "a share is expected, or 0: the machine's pace isn't asked"
            )


@dataclass(frozen=True)
class Step:
    """What the sweep is about to do, for whoever shows progress. Attributes: done, planned: visits of the stage."""

    stage: int
    shape: Shape
    done: int
    planned: int


class BudgetSpent(Exception):
    """The minutes are over; what was measured stands in the journal."""


def sweep(
    visit: Visit,
    grid: list[Shape],
    reference: Shape,
    experts: Experts,
    journal: Journal,
    how: Settings,
    say: Say,
    fits: Fits = lambda _: True,
) -> list[str]:
    """Measures into the journal; says why it ended, a line each. `visit` measures a shape once; `fits` is asked of new ones."""
    shapes, why = grid, f"in {how.stages} stages"
    for stage in range(how.stages):
        if stage not in journal.plans:
            journal.plan(stage, shapes)
        try:
            _stage(visit, stage, range(how.rounds), reference, journal, how, say)
        except BudgetSpent:
            return [f"the budget of {how.budget_seconds / 60:g} minutes ended in stage {stage}"]
        points = points_of(journal.samples(how.pace_share), how.keep_contaminated)
        error = held_out_error(points, experts)
        if not how.adaptive:
            return []
        if error is not None and error <= how.target:
            return [f"stage {stage}: held-out error {error:.1%} is under the target of {how.target:.1%}"]
        shapes = journal.plans.get(stage + 1) or _new(refine(points, experts, fits), journal)
        if not shapes:
            why = "before nothing lay between the points any more"
            break
    again = _again(visit, reference, experts, journal, how, say)
    return [f"the target of {how.target:.1%} was not reached {why}", again]


def _again(visit: Visit, reference: Shape, experts: Experts, journal: Journal, how: Settings, say: Say) -> str:
    """More rounds over all shapes, to the budget's end or the target; says how many."""
    every = unique([shape for stage in range(how.stages) for shape in journal.plans.get(stage, ())])
    for number in range(how.more):
        stage = how.stages + number
        if stage not in journal.plans:
            journal.plan(stage, every)
        try:
            _stage(visit, stage, [how.rounds + number], reference, journal, how, say)
        except BudgetSpent:
            return f"the budget of {how.budget_seconds / 60:g} minutes ended after {number} more rounds over all {len(every)} shapes"
        error = held_out_error(points_of(journal.samples(how.pace_share), how.keep_contaminated), experts)
        if error is not None and error <= how.target:
            return f"after {number + 1} more rounds over all {len(every)} shapes the held-out error is {error:.1%}, under it"
    return f"nor by {how.more} more rounds over all {len(every)} shapes"


def held_out_error(points: list[Point], experts: Experts) -> float | None:
    """Leave-one-batch MAPE of the curve that these points make; None where they don't allow one."""
    used = [p for p in points if p.kind != "idle" and p.n > 0]
    if len(used) < 3:
        return None
    found = fit(used, experts).report.errors.get("leave_one_batch")
    return None if found is None else found.mape


def _new(shapes: list[Shape], journal: Journal) -> list[Shape]:
    """Those of no earlier stage."""
    known = {shape for plan in journal.plans.values() for shape in plan}
    return [shape for shape in shapes if shape not in known]


def _stage(
    visit: Visit, stage: int, rounds: Iterable[int], reference: Shape, journal: Journal, how: Settings, say: Say
) -> None:
    shapes = journal.plans[stage]
    order = [one for number in rounds for one in _round(stage, number, shapes, reference, how)]
    for attempt in range(1 + how.retries):
        for done, (place, shape) in enumerate(order):
            if _due(journal, place, attempt, how):
                say(Step(stage, shape, len(order) if attempt else done, len(order)))
                _place(visit, place, shape, shape == reference, journal, how)


def _round(
    stage: int, number: int, shapes: list[Shape], reference: Shape, how: Settings
) -> Iterator[tuple[Place, Shape]]:
    """Places of a round: the reference first, in between and last, the others in an order drawn from seed, stage and round."""
    drawn = unique([shape for shape in shapes if shape != reference])
    random.Random(f"{how.seed}/{stage}/{number}").shuffle(drawn)
    order = [reference]
    for count, shape in enumerate(drawn, start=1):
        order.append(shape)
        if count % how.reference_every == 0:
            order.append(reference)
    order += [reference] if order[-1] != reference else []
    for place, shape in enumerate(order):
        yield (stage, number, place), shape


def _due(journal: Journal, place: Place, attempt: int, how: Settings) -> bool:
    """No visit of the place is clean, and it has had no more than so many. What counts as clean may change with what came later."""
    known = journal.attempts(place)
    if len(known) > attempt:
        return False
    limit = limit_of([one.samples for one in journal.visits], how.pace_share) if known else None
    return not any(not contaminated(judged(one.samples, limit)) for one in known)


def _place(visit: Visit, place: Place, shape: Shape, is_reference: bool, journal: Journal, how: Settings) -> None:
    if journal.seconds >= how.budget_seconds:
        raise BudgetSpent
    attempt, begun = len(journal.attempts(place)), time.perf_counter()
    samples = visit(shape, REFERENCE_ROUND if is_reference else place[1], is_reference)
    journal.visit((*place, attempt), shape, time.perf_counter() - begun, samples)


Say = Callable[[Step], None]
