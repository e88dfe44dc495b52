"""Is the machine held to the shapes that a replay meets, and is the replay left alone meanwhile?"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from probe.curve.schema import Point, Sample
from probe.engine.engine import drain
from probe.engine.interfaces import SamplingParams
from probe.measure.errors import NotAsPlanned
from probe.measure.rig import Rig
from probe.measure.shapes import Shape, decode, mixed, prefill
from probe.measure.simulate import Part, Served
from probe.measure.truth import yardstick_of
from probe.measure.yardstick import Mark, Yardstick, marks_of
from tests.probe.measure.rigs import rig
from tests.probe.measure.test_rig import result_of

MARKS = [Mark(decode(2, 16), 0.5, 0.75), Mark(mixed(1, 16, 8), 2.0, 0.25)]


def at(batch: int, context: int, seconds: float = 1.0, n: int = 5) -> Point:
    return Point(kind="decode", seconds=seconds, batch=batch, context_sum=batch * context, n=n)


def with_prompt(batch: int, new: int, cached: int = 0, seconds: float = 1.0) -> Point:
    pairs = new * (cached + new / 2)
    return Point(
        kind="mixed" if batch else "prefill",
        seconds=seconds,
        batch=batch,
        context_sum=batch * 64,
        new=new,
        cached=cached,
        pairs=pairs,
        n=5,
    )


def predicted(*steps: tuple[float, list[Part]]) -> Served:
    served = Served()
    served.steps = list(steps)
    return served


def decoding(batch: int, context: int) -> list[Part]:
    return [Part(1, context - 1, False)] * batch


def test_marks_are_what_the_predicted_steps_are_nearest_to() -> None:
    """Three quarters of the time 8 sequences of 100, a quarter a prompt of 60 beside 4: two points of each kind share its time."""
    steps = (3.0, decoding(8, 100)), (1.0, [*decoding(4, 64), Part(60, 0, True)]), (0.0, [])
    points = [at(1, 64), at(8, 64, 0.1), at(8, 256), at(9, 110, 0.2), at(8, 100, n=0), at(64, 100)]
    points += [
        with_prompt(4, 64, seconds=0.3),
        with_prompt(4, 256),
        with_prompt(0, 64),
        with_prompt(3, 50, seconds=0.4),
    ]
    points += [Point(kind="decode", seconds=1.0, batch=8, context_sum=800, ragged=True, n=5)]
    assert marks_of(points, predicted(*steps)) == [
        Mark(decode(9, 110), 0.2, 3 / 8),
        Mark(decode(8, 64), 0.1, 3 / 8),
        Mark(mixed(4, 64, 64), 0.3, 1 / 8),
        Mark(mixed(3, 64, 50), 0.4, 1 / 8),
    ]


def test_a_batch_is_weighed_by_time() -> None:
    """9 s at 2 and 1 s at 12: 3 in the mean, where 7 would be by steps."""
    steps = (9.0, decoding(2, 64)), (1.0, decoding(12, 64))
    points = [at(3, 64), at(3, 65), at(7, 64)]
    assert [mark.shape for mark in marks_of(points, predicted(*steps))] == [decode(3, 64), decode(3, 65)]


def test_prompts_of_several_are_no_mark_and_kinds_without_a_point_have_no_share() -> None:
    several = Point(kind="prefill", seconds=1.0, new=64, pairs=1024.0, n=5)  # two of 32, not one of 64
    steps = predicted((1.0, decoding(2, 64)), (1.0, [Part(64, 0, True)]))
    assert marks_of([at(2, 64), several], steps) == [Mark(decode(2, 64), 1.0, 1.0)]
    assert marks_of([at(2, 64), several, with_prompt(0, 64)], steps)[1] == Mark(prefill(64), 1.0, 0.5)


@pytest.fixture
def small(tmp_path: Path) -> Rig:
    return rig(tmp_path / "model")


class Visits:
    """Gives each shape's seconds in turn."""

    def __init__(self, found: dict[Shape, list[tuple[float, bool]]]) -> None:
        self.found = found

    def visit(self, shape: Shape) -> list[Sample]:
        return [Sample(kind=shape.kind, seconds=seconds, contaminated=bad) for seconds, bad in self.found[shape]]


def ticked(
    small: Rig, monkeypatch: pytest.MonkeyPatch, few: list[tuple[float, bool]], many: list[tuple[float, bool]]
) -> float | None:
    yardstick = Yardstick(small.engine, MARKS, 1)
    monkeypatch.setattr(yardstick, "_visitor", Visits({MARKS[0].shape: few, MARKS[1].shape: many}))
    return yardstick.tick()


def test_a_tick_is_the_marks_time_over_the_files_by_their_shares(small: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Middle ones 0.6 of 0.5 and 3.0 of 2.0: 3/4 x 1.2 + 1/4 x 1.5 = 1.275. A disturbed step does not count."""
    few = [(0.6, False), (0.7, False), (0.5, False), (9.0, True)]
    assert ticked(small, monkeypatch, few, [(3.0, False)]) == pytest.approx(1.275)


def test_a_tick_of_which_a_mark_was_disturbed_says_nothing(small: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ticked(small, monkeypatch, [(0.6, False)], [(3.0, True)]) is None


def answered(small: Rig, yardstick: Yardstick | None) -> list[tuple[str, tuple[int, ...]]]:
    """Tokens of five requests, of which two wait for room among four; looks between their steps."""
    for number in range(6):
        params = SamplingParams(max_tokens=6, temperature=0.0, ignore_eos=True)
        small.engine.add_request([7 * number + 1, 2, 3], params, f"r{number}")
    found: dict[str, tuple[int, ...]] = {}
    while small.engine.has_unfinished:
        if yardstick is not None:
            running, waiting = list(small.engine.scheduler.running), list(small.engine.scheduler.waiting)
            assert yardstick.tick() is not None
            assert (list(small.engine.scheduler.running), list(small.engine.scheduler.waiting)) == (running, waiting)
        for output in small.engine.step().outputs:
            found[output.request_id] = found.get(output.request_id, ()) + output.new_token_ids
    small.engine.manager.check()
    return sorted(found.items())


def test_requests_get_what_they_would_have_without_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probe.measure.watch.contaminated", lambda *_: False)
    small = rig(tmp_path / "m", max_num_seqs=4)
    assert answered(small, Yardstick(small.engine, [Mark(decode(2, 16), 1.0, 1.0)], 1)) == answered(small, None)


def test_no_room_beside_the_served_says_nothing_and_takes_nothing(tmp_path: Path) -> None:
    small = rig(tmp_path / "m", max_model_len=8192)
    blocks = small.engine.manager.num_blocks
    params = SamplingParams(max_tokens=4, temperature=0.0, ignore_eos=True)
    small.engine.add_request([1] * 100, params, "held")
    small.engine.step()
    too_long = 4 * (blocks - 2)
    assert Yardstick(small.engine, [Mark(decode(1, too_long), 1.0, 1.0)], 1).tick() is None
    small.engine.manager.check()
    assert [one.request_id for one in small.engine.scheduler.running] == ["held"]
    drain(small.engine)
    small.engine.manager.check()


def test_another_step_than_the_shape_says_nothing(small: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def visit(self, shape: Shape) -> list[Sample]:
            raise NotAsPlanned(shape.name, "prefix_hits", 4, 0)

    yardstick = Yardstick(small.engine, MARKS, 1)
    monkeypatch.setattr(yardstick, "_visitor", Other())
    assert yardstick.tick() is None


def test_a_file_that_knows_no_pace_has_no_yardstick(small: Rig) -> None:
    file = result_of([at(2, 16)])
    steps = predicted((1.0, decoding(2, 16)))
    assert file.run.pace is None
    assert yardstick_of(file, small, steps, 0) is None
    paced = msgspec.structs.replace(file, run=msgspec.structs.replace(file.run, pace=0.002))
    found = yardstick_of(paced, small, steps, 0)
    assert found is not None
    assert found.marks == [Mark(decode(2, 16), 1.0, 1.0)]


def test_a_file_without_a_step_like_the_predicted_has_no_yardstick(small: Rig) -> None:
    """Prompts alone, of which it has none: there is nothing to be slower than."""
    file = result_of([at(2, 16)])
    paced = msgspec.structs.replace(file, run=msgspec.structs.replace(file.run, pace=0.002))
    assert yardstick_of(paced, small, predicted((1.0, [Part(64, 0, True)])), 0) is None
