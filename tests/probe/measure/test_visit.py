"""Is what was timed what was meant: contexts, prompts, lengths, no prefix hit, nothing left behind?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probe.engine.attention.runs import stride_of
from probe.engine.interfaces import SamplingParams, StepOutput
from probe.engine.scheduler import Schedule
from probe.measure import watch
from probe.measure.errors import MeasureRefused, NotAsPlanned
from probe.measure.pace import Pace
from probe.measure.rig import Rig
from probe.measure.shapes import IDLE, Shape, decode, mixed, prefill, ragged
from probe.measure.visit import Visiting, Visitor
from tests.probe.measure.rigs import MODELS, rig

HOW = Visiting(steps=3, warm_up=2)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return rig(tmp_path_factory.mktemp("model"))


@pytest.fixture
def steps(small: Rig, monkeypatch: pytest.MonkeyPatch) -> list[StepOutput]:
    """What each step of the engine gave, in order."""
    seen: list[StepOutput] = []
    plain = small.engine.step

    def step() -> StepOutput:
        seen.append(plain())
        return seen[-1]

    monkeypatch.setattr(small.engine, "step", step)
    return seen


def parts(step: StepOutput) -> list[tuple[str, int, int]]:
    assert step.record is not None
    return [(one.kind, one.num_new_tokens, one.num_past_tokens) for one in step.record.requests]


def test_decode_steps_are_centred_on_the_context(small: Rig) -> None:
    samples = Visitor(small.engine, 1, HOW).visit(decode(2, 40))
    assert [one.contexts for one in samples] == [[39, 39], [40, 40], [41, 41]]


def test_warm_up_runs_the_same_shape_before_and_counts_in_no_sample(small: Rig, steps: list[StepOutput]) -> None:
    Visitor(small.engine, 1, HOW).visit(decode(1, 40))
    assert [parts(step) for step in steps] == [[("decode", 1, past)] for past in (36, 37, 38, 39, 40)]


def test_a_prompt_meets_what_lies_in_the_cache(small: Rig, steps: list[StepOutput]) -> None:
    [sample, *_] = Visitor(small.engine, 1, HOW).visit(prefill(24, 48))
    assert (sample.prefills, sample.contexts) == ([(24, 48)], [])
    assert [parts(step) for step in steps] == [[("prefill", 24, 48)]] * 5


def test_a_mixed_step_has_its_prompt_beside_the_decoding_ones(small: Rig, steps: list[StepOutput]) -> None:
    Visitor(small.engine, 1, HOW).visit(mixed(2, 30, 16, 8))
    assert sorted(parts(steps[3])) == [("decode", 1, 29), ("decode", 1, 29), ("prefill", 16, 8)]


def test_ragged_batches_have_the_sum_of_even_ones() -> None:
    assert ragged(4, 128).contexts == (176, 80, 224, 32)
    assert sum(ragged(5, 100).contexts) == 500


@pytest.mark.parametrize("batch", [2, 3, 4, 7])
def test_a_batch_is_not_read_in_the_order_of_the_cache(small: Rig, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the sweep would time a read in one piece, which a server's sequences, lying anywhere, do not get."""
    starts: list[list[int]] = []
    plain = small.engine.scheduler.schedule

    def schedule() -> Schedule:
        plan = plain()
        starts.append([part.sequence.block_tables[0][0] for part in plan.scheduled])
        return plan

    monkeypatch.setattr(small.engine.scheduler, "schedule", schedule)
    Visitor(small.engine, 1, HOW).visit(decode(batch, 20))
    assert {len(set(row)) for row in starts} == {batch}
    assert {stride_of(row) for row in starts} == {None}


def test_an_idle_turn_runs_nothing(small: Rig, steps: list[StepOutput]) -> None:
    assert len(Visitor(small.engine, 1, HOW).visit(IDLE)) == 3
    assert {step.record for step in steps} == {None}


@pytest.mark.parametrize("name", list(MODELS))
def test_every_architecture_is_measured(tmp_path: Path, name: str) -> None:
    """Windows of 9 tokens and latent caches too: contexts beyond the window, a prompt behind one."""
    visitor = Visitor(rig(tmp_path / "m", name).engine, 1, HOW)
    for shape in (decode(3, 40), prefill(16, 24), mixed(2, 30, 8, 12)):
        assert len(visitor.visit(shape)) == 3
    assert visitor.engine.manager.num_held == 0


def test_nothing_is_left_in_the_cache(small: Rig) -> None:
    Visitor(small.engine, 1, HOW).visit(mixed(3, 50, 16))
    assert (small.engine.manager.num_held, small.engine.has_unfinished) == (0, False)


def test_laid_sequences_give_the_step_that_computed_ones_give(small: Rig, steps: list[StepOutput]) -> None:
    """The same requests, computed from their prompts: kinds, tokens and blocks held of the step are equal."""
    Visitor(small.engine, 1, HOW).visit(decode(2, 40))
    assert steps[2].record is not None
    laid = [(one.num_new_tokens, one.num_past_tokens, one.blocks_held) for one in steps[2].record.requests]
    for name in ("a", "b"):
        params = SamplingParams(max_tokens=4, temperature=0.0, ignore_eos=True)
        small.engine.add_request([7, *range(37)], params, name)
    while small.engine.has_unfinished:
        small.engine.step()
    records = [step.record for step in steps[5:] if step.record and step.record.kind == "decode"]
    assert [(one.num_new_tokens, one.num_past_tokens, one.blocks_held) for one in records[0].requests] == laid


def test_a_prompt_found_in_the_prefix_cache_is_refused(tmp_path: Path) -> None:
    """The same seed draws the same prompts: with reuse on, the second visit would find the first one's."""
    warm = rig(tmp_path / "m", enable_prefix_caching=True)
    Visitor(warm.engine, 1, Visiting(steps=1, warm_up=1)).visit(prefill(64))
    with pytest.raises(NotAsPlanned, match=r"prefix_hits=60, 0 was planned"):
        Visitor(warm.engine, 1, Visiting(steps=1, warm_up=1)).visit(prefill(64))


def test_a_step_of_another_make_up_is_refused(tmp_path: Path) -> None:
    """A budget of 20 tokens cuts a prompt of 32 into chunks: its first step isn't the prompt's."""
    chunked = rig(tmp_path / "m", max_num_batched_tokens=20)
    with pytest.raises(NotAsPlanned, match=r"prefill 32\|0"):
        Visitor(chunked.engine, 1, HOW).visit(prefill(32))
    assert chunked.engine.manager.num_held == 0


def test_an_answer_of_another_length_is_refused(small: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = small.engine.step

    def without_ends() -> StepOutput:
        step = plain()
        return replace(step, outputs=tuple(replace(one, finish_reason=None) for one in step.outputs))

    monkeypatch.setattr(small.engine, "step", without_ends)
    with pytest.raises(NotAsPlanned, match="finish_reason"):
        Visitor(small.engine, 1, HOW).visit(decode(2, 40))


@pytest.mark.parametrize(
    ("given", "field"),
    [({"steps": 4}, "steps=4"), ({"warm_up": 0}, "warm_up=0"), ({"quiet_share": 0.0}, "quiet_share")],
)
def test_settings_that_measure_wrongly_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(MeasureRefused, match=field):
        Visiting(**given)


def test_a_context_shorter_than_its_visit_is_refused(small: Rig) -> None:
    with pytest.raises(MeasureRefused, match="context=4"):
        Visitor(small.engine, 1, HOW).visit(decode(1, 4))


def test_names_tell_shapes_apart() -> None:
    shapes = [decode(4, 128), ragged(4, 128), prefill(64, 32), mixed(2, 30, 16), Shape("idle")]
    names = ["decode 4x128", "decode 4~128 ragged", "prefill 64|32", "mixed 2x30 +16|0", "idle"]
    assert [shape.name for shape in shapes] == names


def test_a_sample_of_a_busy_machine_is_marked(small: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([watch.Reading(100.0, 1.0, 0.0), watch.Reading(102.0, 1.5, 1.0)])
    monkeypatch.setattr(watch, "read", lambda: next(readings))
    assert {one.contaminated for one in Visitor(small.engine, 1, HOW).visit(decode(1, 40))} == {True}


def test_a_step_that_waited_for_a_processor_is_marked_and_its_neighbours_are_not(
    small: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two readings a step, two warm-up and three timed steps: the second timed one waits a second.
    waits = iter([0.0] * 7 + [1.0] * 3)
    monkeypatch.setattr(watch, "waited", lambda: next(waits))
    monkeypatch.setattr(watch, "read", lambda: watch.Reading(None, 0.0, 0.0))
    assert [one.contaminated for one in Visitor(small.engine, 1, HOW).visit(decode(1, 40))] == [False, True, False]


def test_a_sample_has_the_middle_of_the_ticks_before_and_after_its_visit(small: Rig) -> None:
    """Five ticks of 1 s and five of 2 s: the middle is 1.5, the mean of one of each."""
    seconds = iter([1.0] * 5 + [2.0] * 5)
    reads = (read for one in seconds for read in (0.0, one))
    pace = Pace(lambda: None, lambda: next(reads))
    assert {one.pace for one in Visitor(small.engine, 1, HOW, pace).visit(decode(1, 40))} == {1.5}
    assert {one.pace for one in Visitor(small.engine, 1, HOW).visit(decode(1, 40))} == {None}


def test_three_long_prompts_are_enough(small: Rig) -> None:
    how = Visiting(steps=9, warm_up=1, enough_seconds=0.0)
    assert len(Visitor(small.engine, 1, how).visit(prefill(32))) == 3
    assert len(Visitor(small.engine, 1, how).visit(decode(1, 40))) == 9
