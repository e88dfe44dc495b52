"""Does the cache find in a real hour of conversations what is there to be found, and how little does it waste?

Mooncake's trace names each 512-token block of a prompt: equal names, equal prefix. A block of the trace is here a block of 4 tokens.
"""

from __future__ import annotations

import json

import pytest

from probe.engine.interfaces import SamplingParams
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.sequence import Sequence
from probe.engine.scheduler import Scheduler, SchedulerConfig
from tests.shared_data import shared

TRACE_BLOCK, BLOCK = 512, 4
Row = tuple[int, int, list[int]]  # input length, output length, block names


@pytest.fixture(scope="module")
def trace() -> list[Row]:
    with shared("mooncake/conversation_trace.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [(row["input_length"], row["output_length"], row["hash_ids"]) for row in rows]


def scaled_prompt(length: int, names: list[int]) -> list[int]:
    """128 times shorter: whole blocks stay whole, the rest of a block stays a rest."""
    full, rest = divmod(length, TRACE_BLOCK)
    tokens = [name for name in names[:full] for _ in range(BLOCK)]
    return tokens + [names[full]] * min(BLOCK - 1, -(-rest * BLOCK // TRACE_BLOCK)) if rest else tokens


def own_hits(trace: list[Row], *, rests: bool) -> int:
    """Input tokens that a cache without eviction has, counted from the names alone.

    rests: a prompt's unfilled last block counts as well, and a prompt may be found whole; an engine can do neither.
    """
    seen: set[int] = set()
    found = 0
    for length, _, names in trace:
        leading = next((i for i, name in enumerate(names) if name not in seen), len(names))
        found += (
            min(leading * TRACE_BLOCK, length) if rests else min(leading, (length - 1) // TRACE_BLOCK) * TRACE_BLOCK
        )
        seen.update(names)
    return found


def test_the_prefix_hit_rate_is_the_traces_own(trace: list[Row]) -> None:
    manager = BlockManager(300_000, BLOCK)
    found = 0
    for index, (length, _, names) in enumerate(trace):
        one = Sequence(str(index), scaled_prompt(length, names), SamplingParams(max_tokens=1))
        assert manager.allocate(one, one.num_tokens)
        found += (one.num_cached_tokens or 0) // BLOCK * TRACE_BLOCK
        one.num_computed_tokens = one.num_tokens
        manager.commit(one)
        manager.free(one)
    manager.check()
    total = sum(length for length, _, _ in trace)
    assert found == own_hits(trace, rests=False)
    assert round(found / total, 4) == 0.3734
    assert round(own_hits(trace, rests=True) / total, 3) == 0.374
    assert (manager.num_held, manager.num_blocks - manager.num_free) == (0, manager.num_cached)


def test_with_eviction_the_books_balance_after_every_step_and_fewer_are_found(trace: list[Row]) -> None:
    manager = BlockManager(400, BLOCK)
    held: list[Sequence] = []
    found = {True: 0, False: 0}
    for index, (length, _, names) in enumerate(trace[:250]):
        one = Sequence(str(index), scaled_prompt(length, names), SamplingParams(max_tokens=1))
        while not manager.allocate(one, one.num_tokens):
            manager.free(held.pop(0))
            manager.check()
        found[bool(one.num_cached_tokens)] += 1
        one.num_computed_tokens = one.num_tokens
        manager.commit(one)
        held.append(one)
        manager.check()
    assert found[True] > 200  # a system prompt of one block is in all of them
    for one in held:
        manager.free(one)
    manager.check()
    assert manager.num_held == 0


def test_served_by_the_scheduler_the_books_balance_after_every_step(trace: list[Row]) -> None:
    """200 conversations, 16 at once, answers 8 times shorter, in a small cache: chunks, hits, evictions and preemptions."""
    manager = BlockManager(300, BLOCK)
    scheduler = Scheduler(SchedulerConfig(max_num_batched_tokens=64, max_num_seqs=16), manager)
    for index, (length, output, names) in enumerate(trace[:200]):
        params = SamplingParams(max_tokens=-(-output // 8))
        scheduler.add(Sequence(str(index), scaled_prompt(length, names), params))
    ended, preempted, found = 0, 0, 0
    while scheduler.has_unfinished:
        plan = scheduler.schedule()
        assert 1 <= sum(part.num_new for part in plan.scheduled) <= 64
        for part in plan.scheduled:
            one = part.sequence
            found += one.unrecorded_hit or 0
            one.unrecorded_hit = None
            one.token_ids += [-1 - int(one.request_id)] if part.samples else []
            one.num_computed_tokens = part.num_past + part.num_new
            manager.commit(one)
            if one.num_output_tokens == one.params.max_tokens:
                scheduler.finish(one)
                ended += 1
        manager.check()
        preempted += len(plan.preempted)
    assert (ended, manager.num_held) == (200, 0)
    assert preempted > 0
    assert found > 200 * BLOCK


def test_paging_wastes_a_thousandth_where_contiguous_reservation_wastes_nine_tenths(trace: list[Row]) -> None:
    """64 conversations at once, real lengths, blocks of 16: unfilled slots over held ones, against the longest for each."""
    rows = trace[:64]
    manager = BlockManager(100_000, 16, enable_prefix_caching=False)
    tokens = 0
    for index, (length, output, _) in enumerate(rows):
        one = Sequence(str(index), [0] * (length + output), SamplingParams(max_tokens=1))
        assert manager.allocate(one, one.num_tokens)
        tokens += one.num_tokens
    paged = 1 - tokens / (manager.num_held * 16)
    longest = max(length + output for length, output, _ in trace)
    contiguous = 1 - tokens / (longest * len(rows))
    assert tokens == sum(length + output for length, output, _ in rows)
    assert paged < 0.001
    assert contiguous > 0.89
