"""In which order is a grid measured, how often, until when? The engine is replaced by known step times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from probe.curve.schema import Point, Sample
from probe.curve.terms import Terms
from probe.fit.model import Experts
from probe.measure.errors import MeasureRefused
from probe.measure.journal import Journal
from probe.measure.plan import GridFile, Limits, auto_grid, refine, shapes_of
from probe.measure.shapes import Shape, decode, mixed, prefill
from probe.measure.summary import points_of
from probe.measure.sweep import REFERENCE_ROUND, Settings, held_out_error, sweep
from tests.probe.fit.points import DENSE

REFERENCE = decode(4, 64)
GRID = shapes_of(GridFile(batch=[1, 4, 16], context=[16, 64, 256], prefill_new=[16, 64], prefill_cached=[0, 64]))
SETTINGS = Settings(budget_seconds=1e9, rounds=2, reference_every=5, seed=3)


def seconds(terms: Terms, shape: Shape) -> float:
    numbers = (len(shape.contexts), sum(shape.contexts), 0.0, shape.new_tokens)
    own = sum(float(terms.prefill(np.float64(n), np.float64(p))) for n, p in shape.prefills)
    batch, contexts, _, tokens = (np.float64(one) for one in numbers)
    return float(terms.seconds(batch, contexts, np.float64(own), tokens))


class Bench:
    """Times by terms, stretched by `by`; counts visits. `noisy`: how many first visits of a shape are contaminated. `paces`: the
    machine's own, of the visits in order; the last stays."""

    def __init__(
        self, by: Callable[[Shape], float] = lambda _: 1.0, noisy: int = 0, paces: list[float] | None = None
    ) -> None:
        self.by, self.noisy, self.paces = by, noisy, paces
        self.visits: list[Shape] = []

    def __call__(self, shape: Shape, number: int, reference: bool) -> list[Sample]:
        bad = self.visits.count(shape) < self.noisy
        self.visits.append(shape)
        time = seconds(DENSE, shape) * self.by(shape) if shape.new_tokens else 1e-6
        return [
            Sample(
                kind=shape.kind,
                seconds=time,
                contexts=list(shape.contexts),
                prefills=list(shape.prefills),
                round=number,
                reference=reference,
                contaminated=bad,
                pace=None if self.paces is None else self.paces[min(len(self.visits), len(self.paces)) - 1],
            )
        ]


def run(bench: Bench, path: Path, settings: Settings = SETTINGS, grid: list[Shape] = GRID) -> tuple[list[str], Journal]:
    journal = Journal(path / "journal", {})
    return sweep(bench, grid, REFERENCE, Experts(), journal, settings, lambda _: None), journal


def test_a_grid_that_the_terms_follow_ends_after_its_rounds(tmp_path: Path) -> None:
    notes, journal = run(Bench(), tmp_path)
    assert notes == ["stage 0: held-out error 0.0% is under the target of 5.0%"]
    counts = {shape: [v.shape.shape() for v in journal.visits].count(shape) for shape in GRID}
    assert {counts[shape] for shape in GRID if shape != REFERENCE} == {2}
    assert counts[REFERENCE] == 8  # 13 others a round: first, after the fifth and tenth, last; two rounds


def test_the_reference_stands_first_after_every_fifth_and_last(tmp_path: Path) -> None:
    """Thirteen others a round, in fives: places 0, 6, 12 and 16."""
    _, journal = run(Bench(), tmp_path)
    assert [v.key[2] for v in journal.visits if v.key[1] == 0 and v.shape.shape() == REFERENCE] == [0, 6, 12, 16]


def test_rounds_are_interleaved_and_drawn_differently(tmp_path: Path) -> None:
    _, journal = run(Bench(), tmp_path)
    first, second = ([v.shape.shape() for v in journal.visits if v.key[1] == number] for number in (0, 1))
    assert set(first) == set(second) == set(GRID)
    assert first != second


def test_the_reference_has_a_series_of_its_own(tmp_path: Path) -> None:
    _, journal = run(Bench(), tmp_path)
    series = [sample for shape, sample in journal.samples() if shape == REFERENCE]
    assert {(one.reference, one.round) for one in series} == {(True, REFERENCE_ROUND)}


def test_a_contaminated_visit_is_repeated_and_both_are_kept(tmp_path: Path) -> None:
    _, journal = run(Bench(noisy=1), tmp_path, Settings(budget_seconds=1e9, rounds=1, adaptive=False))
    attempts = [v.key[3] for v in journal.visits if v.shape.shape() == decode(1, 16)]
    assert attempts == [0, 1]
    flags = [s.contaminated for shape, s in journal.samples() if shape == decode(1, 16)]
    assert flags == [True, False]


ONCE = Settings(budget_seconds=1e9, rounds=1, reference_every=5, adaptive=False, retries=2)


def attempts(journal: Journal) -> list[tuple[int, int]]:
    """(place in the round, attempt) of each visit, in order."""
    return [(v.key[2], v.key[3]) for v in journal.visits]


def test_visits_of_a_slow_machine_are_repeated_when_the_others_are_done(tmp_path: Path) -> None:
    """Places 10 and 11 of 17 were 11 % slower, 12 was 10 % slower; the repeated visit of 11 is slow again, its next one isn't."""
    paces = [1.0] * 10 + [1.11, 1.11, 1.1] + [1.0] * 4 + [1.0, 1.2, 1.0]
    _, journal = run(Bench(paces=paces), tmp_path, ONCE)
    assert attempts(journal) == [*((place, 0) for place in range(17)), (10, 1), (11, 1), (11, 2)]
    marks = [sample.contaminated for _, sample in journal.samples(0.1)]
    assert [place for place, mark in enumerate(marks) if mark] == [10, 11, 18]


def test_the_first_visits_are_held_to_a_pace_that_is_known_later(tmp_path: Path) -> None:
    _, journal = run(Bench(paces=[1.5, 1.5, 1.0]), tmp_path, ONCE)
    assert attempts(journal)[17:] == [(0, 1), (1, 1)]


def test_a_machine_that_is_always_slow_has_no_visit_too_many(tmp_path: Path) -> None:
    """Nothing says that it could be quicker."""
    _, journal = run(Bench(paces=[3.0]), tmp_path, ONCE)
    assert len(journal.visits) == 17


def test_a_share_of_nothing_repeats_no_visit_for_its_pace(tmp_path: Path) -> None:
    _, journal = run(Bench(paces=[1.5] * 4 + [1.0]), tmp_path, replace(ONCE, pace_share=0.0))
    assert len(journal.visits) == 17
    with pytest.raises(MeasureRefused, match=r"pace_share=-0\.1"):
        replace(ONCE, pace_share=-0.1)


def test_slow_visits_after_a_kill_are_judged_as_before_it(tmp_path: Path) -> None:
    """Ten visits, two of them slow, then a process without memory: the same places are visited again as by one run."""

    class Stopped(Exception):
        pass

    first = Bench(paces=[1.0] * 5 + [1.5, 1.5] + [1.0])

    def visit(shape: Shape, number: int, reference: bool) -> list[Sample]:
        if len(first.visits) == 10:
            raise Stopped
        return first(shape, number, reference)

    journal = Journal(tmp_path / "journal", {})
    with pytest.raises(Stopped):
        sweep(visit, GRID, REFERENCE, Experts(), journal, ONCE, lambda _: None)
    journal.close()
    _, both = run(Bench(paces=[1.0]), tmp_path, ONCE)
    assert attempts(both) == [*((place, 0) for place in range(17)), (5, 1), (6, 1)]


def test_retries_end(tmp_path: Path) -> None:
    _, journal = run(Bench(noisy=99), tmp_path, Settings(budget_seconds=1e9, rounds=1, adaptive=False, retries=2))
    assert [v.key[3] for v in journal.visits if v.shape.shape() == decode(1, 16)] == [0, 1, 2]


def test_batches_are_added_beside_the_worst_one_at_all_contexts(tmp_path: Path) -> None:
    """Batch 16 costs half as much again as the terms say: between it and its neighbour lies what the coarse grid can't tell."""
    bent = Bench(by=lambda shape: 1.5 if len(shape.contexts) == 16 else 1.0)
    notes, journal = run(bent, tmp_path, Settings(budget_seconds=1e9, rounds=1, target=0.001, stages=2))
    assert {decode(8, 16), decode(8, 64), decode(8, 256)} <= set(journal.plans[1])
    assert not set(journal.plans[1]) & set(GRID)
    assert notes == ["the target of 0.1% was not reached in 2 stages", "nor by 8 more rounds over all 20 shapes"]


def test_more_rounds_go_over_all_shapes_where_the_target_was_not_reached(tmp_path: Path) -> None:
    bent = Bench(by=lambda shape: 1.5 if len(shape.contexts) == 16 else 1.0)
    settings = Settings(budget_seconds=1e9, rounds=2, target=0.001, stages=2, more=3)
    _, journal = run(bent, tmp_path, settings)
    every = [*journal.plans[0], *journal.plans[1]]
    assert [journal.plans[stage] for stage in (2, 3, 4)] == [every] * 3
    assert sorted(journal.plans) == [0, 1, 2, 3, 4]
    of_one = [v.key for v in journal.visits if v.shape.shape() == every[-1]]
    assert [(stage, number) for stage, number, _, _ in of_one] == [(1, 0), (1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_machine_that_was_quicker_while_a_stage_was_measured_is_outweighed(tmp_path: Path) -> None:
    """Batches of the second stage take 0.8 of their time in its two rounds, all of it later: of three samples the middle one is still
    quick, of five it is not."""
    bench = Bench()

    def quick(shape: Shape) -> float:
        if len(shape.contexts) == 16:
            return 1.5
        return 0.8 if shape not in GRID and shape.kind == "decode" and bench.visits.count(shape) <= 2 else 1.0

    bench.by = quick
    settings = Settings(budget_seconds=1e9, rounds=2, target=0.0001, stages=2, more=3)
    _, journal = run(bench, tmp_path, settings)
    new = journal.plans[1][0]
    assert [round(s.seconds / seconds(DENSE, new), 6) for shape, s in journal.samples() if shape == new] == [
        0.8,
        0.8,
        1,
        1,
        1,
    ]
    point = next(
        p for p in points_of(journal.samples()) if (p.batch, p.context_sum) == (len(new.contexts), sum(new.contexts))
    )
    assert point.seconds == seconds(DENSE, new)


def test_the_target_ends_more_rounds(tmp_path: Path) -> None:
    """Batch 16 takes half as much again in its first two visits; of five, three are as the terms say."""
    bench = Bench()
    bench.by = lambda shape: 1.5 if len(shape.contexts) == 16 and bench.visits.count(shape) <= 2 else 1.0
    notes, _ = run(bench, tmp_path, Settings(budget_seconds=1e9, rounds=2, target=0.001, stages=1, more=9))
    assert notes == [
        "the target of 0.1% was not reached in 1 stages",
        "after 3 more rounds over all 14 shapes the held-out error is 0.0%, under it",
    ]


def test_the_budget_ends_more_rounds(tmp_path: Path) -> None:
    """17 visits a round, a second each: 34, 51, 68, 85, and 15 of the fourth."""

    class OfSeconds(Journal):
        @property
        def seconds(self) -> float:
            return float(len(self.visits))

    bent, journal = (
        Bench(by=lambda shape: 1.5 if len(shape.contexts) == 16 else 1.0),
        OfSeconds(tmp_path / "journal", {}),
    )
    settings = Settings(budget_seconds=100.0, rounds=2, reference_every=5, target=0.001, stages=1, more=9, seed=3)
    notes = sweep(bent, GRID, REFERENCE, Experts(), journal, settings, lambda _: None)
    assert notes[-1] == "the budget of 1.66667 minutes ended after 3 more rounds over all 14 shapes"
    assert len(journal.visits) == 100


def test_the_batch_predicted_worst_comes_first() -> None:
    """Batch 64 takes half as much again; between it and 16 lies 32."""
    shapes = [decode(b, s) for b in (1, 4, 16, 64) for s in (16, 256)] + [prefill(16), prefill(64, 64)]
    points = points_of(
        [
            (
                shape,
                Sample(kind=shape.kind, seconds=seconds(DENSE, shape) * (1.5 if len(shape.contexts) == 64 else 1.0)),
            )
            for shape in shapes
        ]
    )
    assert refine(points, Experts())[:2] == [decode(32, 16), decode(32, 256)]


def test_contexts_are_added_where_no_batch_lies_between() -> None:
    points = [
        Point(kind="decode", seconds=0.01 * b * s, batch=b, context_sum=b * s) for b in (1, 2, 3) for s in (4, 16)
    ]
    points += [Point(kind="prefill", seconds=0.05, new=16, pairs=128.0)]
    assert refine(points, Experts()) == [decode(1, 8), decode(2, 8), decode(3, 8)]


def test_refinement_ends_where_nothing_lies_between() -> None:
    points = [Point(kind="decode", seconds=0.01 * b, batch=b, context_sum=b * s) for b in (1, 2, 3) for s in (4, 5)]
    points += [Point(kind="prefill", seconds=0.05, new=16, pairs=128.0)]
    assert refine(points, Experts()) == []


def test_the_budget_ends_a_sweep_with_what_there_is(tmp_path: Path) -> None:
    notes, journal = run(Bench(), tmp_path, Settings(budget_seconds=0.0))
    assert (notes, len(journal.visits)) == (["the budget of 0 minutes ended in stage 0"], 0)


def test_a_sweep_goes_on_where_its_journal_ends(tmp_path: Path) -> None:
    """A first run that is stopped after seven visits, a second one: together they measured what one run would have."""

    class Stopped(Exception):
        pass

    stopping = Bench()

    def visit(shape: Shape, number: int, reference: bool) -> list[Sample]:
        if len(stopping.visits) == 7:
            raise Stopped
        return stopping(shape, number, reference)

    journal = Journal(tmp_path / "journal", {})
    with pytest.raises(Stopped):
        sweep(visit, GRID, REFERENCE, Experts(), journal, SETTINGS, lambda _: None)
    journal.close()
    resumed = Bench()
    _, both = run(resumed, tmp_path)
    (tmp_path / "whole").mkdir()
    _, whole = run(Bench(), tmp_path / "whole")
    assert len(resumed.visits) == len(whole.visits) - 7
    assert [(v.key, v.shape) for v in both.visits] == [(v.key, v.shape) for v in whole.visits]


def test_contaminated_shapes_are_in_no_fit() -> None:
    few = [Point(kind="decode", seconds=0.01, batch=b, context_sum=b * 64, n=0) for b in (1, 4, 16)]
    assert held_out_error(few, Experts()) is None


def test_a_mixture_of_experts_gets_small_batches_densely() -> None:
    limits = Limits(num_blocks=6_250, block_size=16, token_budget=2_048, max_model_len=2_048, max_num_seqs=32, moe=True)
    assert auto_grid(limits).batch == [1, 2, 3, 4, 6, 8, 12, 16, 32]


def test_the_coarse_grid_keeps_to_the_limits() -> None:
    grid = auto_grid(Limits(num_blocks=625, block_size=16, token_budget=512, max_model_len=1_024, max_num_seqs=16))
    assert (grid.batch, grid.context) == ([1, 4, 16], [64, 256])
    assert (grid.prefill_new, grid.prefill_cached) == ([16, 64, 256], [0, 256])
    assert grid.mixed == [(4, 256, 64, 0), (4, 256, 256, 0), (16, 256, 64, 0), (16, 256, 256, 0)]


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        (decode(4, 91), True),  # 4 x (91 + 5) tokens are 4 x 6 blocks of 16
        (decode(4, 92), False),  # 4 x 97 tokens of 400, but 4 x 7 blocks of 25
        (decode(3, 123), True),  # 3 x 8
        (prefill(64, 32), True),
        (prefill(65), False),  # more than a step's 64 tokens
        (mixed(5, 20, 16), False),  # six at once
        (decode(1, 196), False),  # 201 of 200
    ],
)
def test_what_does_not_fit_is_not_measured(shape: Shape, fits: bool) -> None:
    limits = Limits(num_blocks=25, block_size=16, token_budget=64, max_model_len=200, max_num_seqs=5)
    assert limits.lets(shape, 5) is fits


def test_a_batch_between_is_measured_only_where_it_fits(tmp_path: Path) -> None:
    """16 x 256 and 64 x 64 fit into 6,000 tokens, 64 x 256 doesn't; of the batch between, 32, 32 x 256 doesn't either."""

    def fits(shape: Shape) -> bool:
        return sum(shape.contexts) <= 6_000

    def visit(shape: Shape, number: int, reference: bool) -> list[Sample]:
        assert fits(shape)
        return bent(shape, number, reference)

    bent = Bench(lambda shape: 1.0 + 0.3 * (len(shape.contexts) == 64))
    grid = [shape for b in (1, 4, 16, 64) for s in (16, 64, 256) if fits(shape := decode(b, s))]
    journal = Journal(tmp_path / "journal", {})
    settings = Settings(budget_seconds=1e9, rounds=1, target=1e-9, stages=2, more=0)
    sweep(visit, grid, REFERENCE, Experts(), journal, settings, lambda _: None, fits)
    between = {shape for shape in journal.plans[1] if len(shape.contexts) == 32}
    assert between == {decode(32, 16), decode(32, 64)}
