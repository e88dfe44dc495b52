"""Which visits are out as the machine was slower beside them?"""

from __future__ import annotations

import msgspec
import pytest

from probe.curve.schema import Sample
from probe.measure.judge import comparable, judged, limit_of, notes_of, pace_of_curve, quick_of
from probe.measure.pace import WORK
from tests.probe.measure.test_rig import result_of


def visit(pace: float | None, *, seconds: float = 1.0, contaminated: bool = False) -> list[Sample]:
    return [Sample(kind="decode", seconds=seconds, pace=pace, contaminated=contaminated)]


# Quicker quarter: the third of nine, 2.0. With a share of 10 % the limit is 2.2.
PACES = [3.0, 2.0, 1.9, 2.1, 2.0, 2.2, 2.21, 2.5, 2.1]
VISITS = [visit(pace) for pace in PACES]


def test_the_quicker_quarter_is_what_the_machine_can_do() -> None:
    assert quick_of(PACES) == 2.0


def test_seven_visits_are_too_few_to_tell() -> None:
    assert (quick_of(PACES[:7]), limit_of(VISITS[:7], 0.1)) == (None, None)
    assert limit_of(VISITS[:8], 0.1) is not None


def test_visits_slower_by_more_than_the_share_are_out() -> None:
    limit = limit_of(VISITS, 0.1)
    assert limit == pytest.approx(2.2)
    marks = [judged(samples, 2.2)[0].contaminated for samples in VISITS]
    assert marks == [True, False, False, False, False, False, True, True, False]


def test_a_share_of_nothing_asks_for_no_pace() -> None:
    assert limit_of(VISITS, 0.0) is None
    assert judged(VISITS[0], None) == VISITS[0]


def test_what_others_did_stays_and_visits_without_a_pace_are_not_held_to_one() -> None:
    assert judged(visit(1.0, contaminated=True), 2.2)[0].contaminated
    assert not judged(visit(None), 2.2)[0].contaminated
    assert limit_of([visit(None)] * 20, 0.1) is None


def test_a_curve_has_the_pace_of_its_clean_samples() -> None:
    slow = [*visit(9.0, contaminated=True), *visit(8.0, contaminated=True)]
    assert pace_of_curve([*slow, *visit(2.0), *visit(2.5), *visit(2.1), *visit(None)]) == 2.1


def test_a_curve_of_contaminated_samples_has_the_pace_of_their_quicker_quarter() -> None:
    assert pace_of_curve([one for p in (5.0, 2.0, 4.0, 3.0, 6.0) for one in visit(p, contaminated=True)]) == 3.0
    assert pace_of_curve(visit(None)) is None


def test_a_reader_is_told_how_many_visits_are_out_and_how_slow_it_was() -> None:
    """Three of nine beyond 2.2. The 95th percentile lies at 0.95 x 8 = 7.6 of the way: 2.5 + 0.6 x 0.5 = 2.8, 40 % above 2.0."""
    [note] = notes_of(VISITS, 0.1)
    assert note.startswith("beside 3 of 9 visits a fixed piece of work was more than 10% slower")
    assert note.endswith("(95 % of visits were at most 40% slower)")


def test_nothing_is_said_of_a_machine_that_kept_its_pace() -> None:
    assert notes_of([visit(2.0)] * 9, 0.1) == []
    assert notes_of(VISITS, 0.0) == []


def test_samples_beside_another_work_lose_their_pace_and_nothing_else() -> None:
    file, samples = result_of([]), visit(0.002)
    same = msgspec.structs.replace(file, run=msgspec.structs.replace(file.run, pace_work=WORK), samples=samples)
    assert comparable(same) == samples
    other = msgspec.structs.replace(same, run=msgspec.structs.replace(file.run, pace_work=None))
    assert comparable(other) == visit(None)
