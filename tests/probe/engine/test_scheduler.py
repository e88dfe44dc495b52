"""Who computes how much in the next step? Budget, admission, policies, preemption, exact batches; no tensors."""

from __future__ import annotations

from typing import Any

import pytest

from probe.engine.errors import RequestRefused
from probe.engine.interfaces import Draft, SamplingParams
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.sequence import Sequence
from probe.engine.scheduler import Schedule, Scheduler, SchedulerConfig


def scheduler(blocks: int = 64, block_size: int = 4, **limits: Any) -> Scheduler:
    return Scheduler(SchedulerConfig(**{"max_model_len": 200, **limits}), BlockManager(blocks, block_size))


def add(one: Scheduler, name: str, length: int, max_tokens: int = 8) -> Sequence:
    sequence = Sequence(name, [1000 * ord(name[-1]) + i for i in range(length)], SamplingParams(max_tokens=max_tokens))
    one.add(sequence)
    return sequence


def step(one: Scheduler) -> list[tuple[str, int, int]]:
    """(request, new, past) of the next step; then the sequences move on and get a token each, as an engine would do."""
    plan = one.schedule()
    moved(one, plan)
    return [(part.sequence.request_id, part.num_new, part.num_past) for part in plan.scheduled]


def moved(one: Scheduler, plan: Schedule) -> None:
    for part in plan.scheduled:
        part.sequence.num_computed_tokens = part.num_past + part.num_new - part.num_draft
        if part.samples:
            part.sequence.token_ids.append(7)
        one.manager.commit(part.sequence)
    one.manager.check()


def test_a_prompt_is_cut_to_the_budget_and_a_decode_joins_its_rest() -> None:
    one = scheduler(max_num_batched_tokens=10)
    add(one, "a", 8)
    add(one, "b", 12)
    assert step(one) == [("a", 8, 0), ("b", 2, 0)]
    assert step(one) == [("a", 1, 8), ("b", 9, 2)]  # mixed
    assert step(one) == [("a", 1, 9), ("b", 1, 11)]
    assert step(one) == [("a", 1, 10), ("b", 1, 12)]


def test_prefill_first_lets_prompts_take_the_budget() -> None:
    one = scheduler(max_num_batched_tokens=10, policy="prefill_first")
    add(one, "a", 8)
    assert step(one) == [("a", 8, 0)]
    add(one, "b", 15)
    assert step(one) == [("b", 10, 0)]
    assert step(one) == [("b", 5, 10), ("a", 1, 8)]


def test_no_more_run_than_max_num_seqs() -> None:
    one = scheduler(max_num_seqs=2)
    for name in "abc":
        add(one, name, 4)
    assert [name for name, _, _ in step(one)] == ["a", "b"]
    assert len(one.waiting) == 1


def test_a_request_that_does_not_fit_waits_and_the_step_says_that_kv_blocks_it() -> None:
    one = scheduler(blocks=5)
    add(one, "a", 12, max_tokens=1)
    add(one, "b", 12, max_tokens=1)
    plan = one.schedule()
    assert [part.sequence.request_id for part in plan.scheduled] == ["a"]
    assert plan.kv_blocked


def test_waiting_for_a_place_is_not_being_blocked_by_kv() -> None:
    one = scheduler(max_num_seqs=1)
    add(one, "a", 4)
    add(one, "b", 4)
    assert not one.schedule().kv_blocked


def test_the_latest_is_preempted_and_comes_back_first() -> None:
    one = scheduler(blocks=4)
    first, second = add(one, "a", 7), add(one, "b", 8)
    add(one, "c", 4)
    assert step(one) == [("a", 7, 0), ("b", 8, 0)]
    # b needs a third block for its ninth token: none is free, and b is the latest.
    plan = one.schedule()
    moved(one, plan)
    assert [part.sequence for part in plan.scheduled] == [first]
    assert plan.preempted == [second]
    assert plan.kv_blocked  # what was pushed out waits for blocks
    assert (second.num_computed_tokens, second.num_tokens) == (0, 9)
    assert [sequence.request_id for sequence in one.waiting] == ["b", "c"]


def test_under_prefill_first_a_decode_gives_way_to_a_later_prompt_that_the_step_has_scheduled() -> None:
    one = scheduler(blocks=5, max_num_batched_tokens=5, policy="prefill_first")
    first = add(one, "a", 8)
    assert [step(one), step(one)] == [[("a", 5, 0)], [("a", 3, 5)]]
    add(one, "b", 12)
    assert [step(one), step(one)] == [[("b", 5, 0)], [("b", 5, 5)]]
    # a needs a third block for its ninth token: b, the later one, has its part of this step already.
    plan = one.schedule()
    assert [(part.sequence.request_id, part.num_new) for part in plan.scheduled] == [("b", 2)]
    assert plan.preempted == [first]


def test_a_step_that_preempts_admits_nobody() -> None:
    """Layers of a window take a chunk's blocks only, so what was just pushed out would fit again, to be pushed out again."""
    one = Scheduler(SchedulerConfig(max_num_batched_tokens=4, max_model_len=200), BlockManager(3, 4, (4,)))
    add(one, "a", 7, max_tokens=40)
    pushed_out = add(one, "b", 12, max_tokens=40)
    for _ in range(7):
        moved(one, one.schedule())
    plan = one.schedule()
    assert plan.preempted == [pushed_out]
    assert [part.sequence.request_id for part in plan.scheduled] == ["a"]


def test_what_a_preempted_request_finds_of_its_own_is_no_hit_of_its_prompt() -> None:
    one = scheduler(blocks=4)
    first, second = add(one, "a", 7), add(one, "b", 8)
    step(one)
    moved(one, one.schedule())
    one.finish(first)
    [part] = one.schedule().scheduled
    assert (part.sequence, second.unrecorded_hit, second.num_cached_tokens) == (second, 8, 0)


def test_alone_in_a_cache_that_is_too_small_a_sequence_fails_instead_of_waiting_forever() -> None:
    one = scheduler(blocks=2)
    sequence = add(one, "a", 8, max_tokens=1)
    step(one)
    sequence.token_ids += [1, 2]  # as a faulty caller would: more than it asked for
    plan = one.schedule()
    assert plan.failed == [sequence]
    assert "2 do not hold 11 tokens" in str(sequence.error)
    assert not one.has_unfinished


def test_drafts_are_scheduled_behind_the_last_token_within_budget_and_max_tokens() -> None:
    one = scheduler(max_num_batched_tokens=8)
    sequence = add(one, "a", 6, max_tokens=4)
    step(one)
    sequence.draft = Draft((1, 2, 3, 4, 5))
    [part] = one.schedule().scheduled
    # One output token is there, four are asked for: of five drafts only two can be followed by another token.
    assert (part.num_new, part.num_draft, part.samples) == (3, 2, True)


def test_an_exact_batch_waits_until_it_is_full_then_prefills_all_then_decodes_all() -> None:
    one = scheduler(max_num_batched_tokens=12, exact_batch=2)
    add(one, "a", 8)
    assert step(one) == []
    add(one, "b", 8)
    add(one, "c", 8)
    assert step(one) == [("a", 8, 0), ("b", 4, 0)]
    assert step(one) == [("b", 4, 4)]
    assert step(one) == [("a", 1, 8), ("b", 1, 8)]
    assert [sequence.request_id for sequence in one.waiting] == ["c"]


def test_of_an_exact_batch_who_ends_leaves_and_none_joins_before_all_have() -> None:
    one = scheduler(exact_batch=2)
    first = add(one, "a", 8)
    for name in "bcd":
        add(one, name, 8)
    step(one)
    one.finish(first)
    assert step(one) == [("b", 1, 8)]


def test_an_exact_batch_that_does_not_fit_fails_whole_and_the_next_one_runs() -> None:
    one = scheduler(blocks=6, exact_batch=2)
    refused = [add(one, "a", 8), add(one, "b", 8)]
    add(one, "c", 4)
    add(one, "d", 4)
    plan = one.schedule()
    assert (plan.failed, plan.scheduled) == (refused, [])
    assert {sequence.error for sequence in refused} == {"exact_batch: 2 need 8 KV blocks, the cache has 6"}
    assert step(one) == [("c", 4, 0), ("d", 4, 0)]


def test_an_exact_batch_of_windowed_layers_starts_in_the_blocks_of_a_chunk_each() -> None:
    """A window of 4 and chunks of 4 hold at most 3 blocks of 4 a sequence; two whole prompts of 20 would take 10."""
    config = SchedulerConfig(max_num_batched_tokens=4, max_model_len=200, exact_batch=2)
    one = Scheduler(config, BlockManager(6, 4, (4,)))
    add(one, "a", 20)
    add(one, "b", 20)
    taken = [step(one) for _ in range(11)]
    assert taken[:10] == [[("a", 4, past)] for past in range(0, 20, 4)] + [[("b", 4, past)] for past in range(0, 20, 4)]
    assert taken[10] == [("a", 1, 20), ("b", 1, 20)]


def test_an_exact_batch_that_could_not_decode_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match=r"exact_batch: 3 exceeds max_num_batched_tokens \(2\)"):
        SchedulerConfig(max_num_batched_tokens=2, exact_batch=3)


@pytest.mark.parametrize(
    ("length", "max_tokens", "words"),
    [
        (0, 1, "prompt_token_ids = .*empty"),
        (190, 11, "max_tokens = 11: 190 prompt tokens and so many more exceed max_model_len"),
        (90, 12, "max_tokens = 12: 90 prompt tokens and so many more need 26 KV blocks, the cache has 25"),
    ],
)
def test_what_can_never_run_is_refused_at_admission(length: int, max_tokens: int, words: str) -> None:
    one = scheduler(blocks=25)
    with pytest.raises(RequestRefused, match=words):
        add(one, "a", length, max_tokens)
    assert not one.has_unfinished


@pytest.mark.parametrize(
    ("field", "value"), [("max_num_batched_tokens", 0), ("max_num_seqs", 0), ("policy", "lifo"), ("exact_batch", 300)]
)
def test_an_impossible_limit_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        SchedulerConfig(**{field: value})
