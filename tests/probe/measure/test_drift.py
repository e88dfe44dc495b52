"""Is a change of cost told from noise, with its size and interval?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from probe.curve.schema import Point, Sample
from probe.measure.drift import Change, Drift, by_round, compare, compared, reference_shapes, samples_of, seconds_of
from probe.measure.errors import MeasureRefused
from probe.measure.shapes import Shape, decode, prefill

A, B = decode(1, 64), decode(16, 64)
ROUNDS = {A: [1.00, 1.01, 0.99, 1.00, 1.00], B: [4.0, 4.0, 4.0, 4.0, 4.0]}


def side(rounds: dict[Shape, list[float]], by: float = 1.0) -> dict[Shape, Mapping[int, float]]:
    return {shape: {number: one * by for number, one in enumerate(seconds)} for shape, seconds in rounds.items()}


THEN = side(ROUNDS)


def times(by: float) -> dict[Shape, Mapping[int, float]]:
    return side(ROUNDS, by)


def test_ten_percent_more_is_said_to_have_moved() -> None:
    found = compare(THEN, times(1.1), 0.02)
    assert found.moved
    assert found.overall.change == pytest.approx(0.1)
    assert found.overall.low < 0.1 < found.overall.high
    assert found.verdict.startswith("cost moved: +10.0%")


def test_swapped_sides_move_the_other_way() -> None:
    found = compare(times(1.1), THEN, 0.02)
    assert found.moved
    assert found.overall.change == pytest.approx(1 / 1.1 - 1)


def test_the_same_times_have_not_moved() -> None:
    assert compare(THEN, THEN, 0.02).verdict.startswith("cost did not move")


def test_noise_wider_than_the_tolerance_decides_nothing() -> None:
    wide = {A: [0.5, 0.9, 1.0, 1.1, 2.0], B: [2.0, 3.0, 4.0, 5.0, 8.0]}
    found = compare(THEN, side(wide), 0.02)
    assert not found.moved
    assert found.verdict.startswith("can't tell")


@pytest.mark.parametrize(("low", "high", "verdict"), [
    (-0.02, 0.02, "cost did not move"),
    (-0.05, -0.01, "can't tell"),
    (0.01, 0.05, "can't tell"),
    (0.02, 0.05, "can't tell"),
    (0.021, 0.05, "cost moved"),
    (-0.05, -0.021, "cost moved"),
])  # fmt: skip
def test_a_verdict_needs_the_whole_interval_on_one_side(low: float, high: float, verdict: str) -> None:
    assert Drift([], Change("all", (low + high) / 2, low, high), 0.02, []).verdict.startswith(verdict)


def test_a_shape_without_clean_rounds_is_named_and_left_out() -> None:
    found = compare(THEN, side({A: [1.1] * 5, B: []}), 0.02)
    assert (found.noisy, [one.name for one in found.changes]) == (["decode 16x64"], ["decode 1x64"])
    with pytest.raises(MeasureRefused, match="quiet machine"):
        compare(THEN, side({A: [], B: []}), 0.02)


def test_rounds_are_medians_of_their_clean_samples() -> None:
    rows = [(0, 1.0, False), (0, 3.0, False), (0, 99.0, True), (1, 7.0, False), (2, 5.0, True)]
    samples = [Sample(kind="decode", seconds=s, round=r, contaminated=bad) for r, s, bad in rows]
    assert by_round(samples, seconds_of) == {0: 2.0, 1: 7.0}


def test_reference_shapes_are_the_corners_and_the_longest_prompt() -> None:
    def point(batch: int, context: int, n: int = 5) -> Point:
        return Point(kind="decode", seconds=1.0, batch=batch, context_sum=batch * context, n=n)

    points = [point(b, s) for b in (1, 4, 16) for s in (64, 256)]
    points += [point(64, 64, n=0)]
    points += [Point(kind="prefill", seconds=1.0, new=n, cached=p) for n, p in ((16, 0), (64, 0), (128, 64))]
    assert reference_shapes(points) == [decode(1, 64), decode(16, 64), decode(16, 256), prefill(64)]


def test_samples_of_a_file_are_found_by_what_ran() -> None:
    def sample(contexts: list[int], prefills: list[tuple[int, int]], kind: str = "decode") -> Sample:
        return Sample(kind=kind, seconds=1.0, contexts=contexts, prefills=prefills)

    mine = [sample([60, 60], []), sample([68, 68], [])]
    others = [sample([64], []), sample([256, 256], []), sample([32, 96], []), sample([], [(64, 0)], "prefill")]
    assert samples_of(decode(2, 64), [*mine, *others]) == mine
    assert samples_of(prefill(64), [*mine, *others]) == [others[3]]


def paced(pace: float | None, rounds: dict[Shape, list[float]], by: float = 1.0) -> dict[Shape, list[Sample]]:
    """A sample a round of each shape, with the machine's pace beside it."""
    return {
        shape: [Sample(kind="decode", seconds=s * by, pace=pace, round=r) for r, s in enumerate(seconds)]
        for shape, seconds in rounds.items()
    }


def test_a_slower_machine_is_told_from_a_slower_engine() -> None:
    """The work takes 2.4 ms for 2 ms, a fifth more; steps take 26 % more, so at equal pace 1.26 / 1.2 = 1.05 times their time."""
    found = compared(paced(0.002, ROUNDS), paced(0.0024, ROUNDS, 1.26), 0.02)
    assert found.machine is not None
    assert found.engine is not None
    assert found.overall.change == pytest.approx(0.26)
    assert found.machine.overall.change == pytest.approx(0.2)
    assert found.engine.overall.change == pytest.approx(0.05)
    _, _, machine, engine, last, again = found.lines()
    assert machine == "the machine's own pace (seconds of a fixed piece of work) moved: +20.0% [+20.0%, +20.0%]"
    assert engine.startswith("the engine's cost at equal pace moved: +5.0%")
    assert last.startswith("cost moved: +26.0%")
    assert again.startswith("what slowed a whole run is in no interval")


def test_a_slower_machine_with_the_same_engine_has_moved_the_cost_alone() -> None:
    found = compared(paced(0.002, ROUNDS), paced(0.0022, ROUNDS, 1.1), 0.02)
    assert found.moved
    assert found.lines()[3].startswith("the engine's cost at equal pace did not move: +0.0%")


@pytest.mark.parametrize(("then", "now"), [(None, 0.002), (0.002, None)])
def test_without_a_pace_then_and_now_it_is_not_known_who_is_slower(then: float | None, now: float | None) -> None:
    found = compared(paced(then, ROUNDS), paced(now, ROUNDS), 0.02)
    assert (found.machine, found.engine) == (None, None)
    assert "is not known" in found.lines()[2]


def test_the_interval_is_students_over_rounds_whose_shapes_moved_together() -> None:
    """Two rounds a side, both shapes 1 % up and down together: the means differ by 0 and each has a variance of ln(1.01)^2; two
    degrees of freedom, 4.3027 x sqrt(2) x 0.00995 = 0.06054. Drawn shape by shape it would be narrower."""
    two = {A: [1.01, 1 / 1.01], B: [4.04, 4 / 1.01]}
    found = compare(side(two), side(two), 0.02)
    assert found.overall.high == pytest.approx(np.expm1(4.3027 * 2**0.5 * np.log(1.01)), rel=1e-3)
    assert found.verdict.startswith("can't tell")


def test_a_single_round_says_nothing_of_noise() -> None:
    found = compare(THEN, side({A: [2.0], B: [8.0]}), 0.02)
    assert (found.overall.change, found.moved) == (pytest.approx(1.0, abs=1e-3), False)
    assert found.overall.high == float("inf")
