"""Do the books of the KV cache balance: block tables, counts, hits, copies, eviction?"""

from __future__ import annotations

import subprocess
import sys

import pytest

from probe.engine.errors import IntegrityError
from probe.engine.interfaces import SamplingParams
from probe.engine.kv.block import NULL_BLOCK
from probe.engine.kv.block_manager import BlockManager
from probe.engine.kv.prefix import ROOT, block_hash
from probe.engine.kv.prefix_cache import PrefixCache
from probe.engine.kv.sequence import Sequence


def sequence(name: str, tokens: list[int], max_tokens: int = 4) -> Sequence:
    return Sequence(name, tokens, SamplingParams(max_tokens=max_tokens))


def computed(manager: BlockManager, one: Sequence, count: int | None = None) -> Sequence:
    """The sequence after a step over `count` of its tokens (all of them)."""
    assert manager.allocate(one, one.num_tokens if count is None else count)
    one.num_computed_tokens = one.num_tokens if count is None else one.num_computed_tokens + count
    manager.commit(one)
    manager.check()
    return one


def test_a_new_sequence_holds_as_many_blocks_as_its_prompt_needs() -> None:
    manager = BlockManager(8, 4)
    one = computed(manager, sequence("a", [1, 2, 3, 4, 5]))
    assert one.block_tables[0] == [0, 1]
    assert (manager.num_free, manager.num_cached, manager.num_held) == (6, 0, 2)


def test_a_chunk_takes_the_whole_prompts_blocks_where_all_is_seen_and_its_own_where_a_window_is() -> None:
    """So an admitted prompt is never stuck half-way."""
    manager = BlockManager(8, 4, [None, 3])
    one = sequence("a", list(range(17)))
    assert manager.allocate(one, 4)
    assert [len(table) for table in one.block_tables] == [5, 1]


def test_what_does_not_fit_changes_nothing() -> None:
    manager = BlockManager(2, 4)
    one = sequence("a", list(range(9)))
    assert not manager.allocate(one, 9)
    assert (one.block_tables, manager.num_free, manager.holders) == ([], 2, {})


def test_an_equal_prefix_is_shared_and_counted() -> None:
    manager = BlockManager(8, 4)
    first = computed(manager, sequence("a", [1, 2, 3, 4, 5, 6, 7, 8, 9]))
    second = computed(manager, sequence("b", [1, 2, 3, 4, 5, 6, 7, 8, 0]))
    assert first.block_tables[0] == [0, 1, 2]
    assert second.block_tables[0][:2] == [0, 1]
    assert second.num_cached_tokens == 8
    assert (manager.share(first), manager.share(second)) == (2.0, 2.0)
    assert manager.num_held == 4


def test_a_whole_prompt_in_the_cache_leaves_one_block_to_compute() -> None:
    manager = BlockManager(8, 4)
    computed(manager, sequence("a", [1, 2, 3, 4, 5, 6, 7, 8]))
    second = sequence("b", [1, 2, 3, 4, 5, 6, 7, 8])
    assert manager.allocate(second, 8)
    assert second.num_computed_tokens == 4


def test_blocks_of_another_parent_are_not_hits() -> None:
    manager = BlockManager(8, 2)
    computed(manager, sequence("a", [1, 1, 7, 7, 0]))
    assert manager.cached_blocks(sequence("b", [2, 2, 7, 7, 0])) == 0


def test_a_hit_is_verified_against_the_tokens() -> None:
    manager = BlockManager(8, 2)
    one = computed(manager, sequence("a", [1, 2, 3]))
    manager.blocks[one.block_tables[0][0]].token_ids = (9, 9)  # as after a collision of the hash
    assert manager.cached_blocks(sequence("b", [1, 2, 3])) == 0


def test_a_hit_is_verified_against_what_precedes_it() -> None:
    """Equal tokens behind another beginning have other keys and values."""
    manager = BlockManager(8, 2)
    one = computed(manager, sequence("a", [1, 2, 3, 4, 5]))
    manager.blocks[one.block_tables[0][1]].parent = b"another"
    assert manager.cached_blocks(sequence("b", [1, 2, 3, 4, 5])) == 1


def test_freed_blocks_are_found_until_they_are_needed_and_tails_go_first() -> None:
    manager = BlockManager(3, 2)
    one = computed(manager, sequence("a", [1, 1, 2, 2, 3, 3]))
    manager.free(one)
    assert (manager.num_free, manager.num_cached) == (0, 3)
    computed(manager, sequence("b", [9]))
    again = sequence("c", [1, 1, 2, 2, 3, 3])
    assert manager.cached_blocks(again) == 2  # block 2, the tail, was evicted


def test_a_cached_block_is_revived_by_a_hit() -> None:
    manager = BlockManager(4, 2)
    manager.free(computed(manager, sequence("a", [1, 1, 2])))
    second = computed(manager, sequence("b", [1, 1, 3]))
    assert (second.num_cached_tokens, manager.num_cached, manager.num_held) == (2, 0, 2)


def test_revived_blocks_are_not_counted_as_free_for_the_same_request() -> None:
    manager = BlockManager(3, 2)
    manager.free(computed(manager, sequence("a", [1, 1, 2, 2, 3])))
    computed(manager, sequence("b", [7]))
    # Two blocks are unreferenced and both are hits: the third block of the prompt has no place.
    assert not manager.allocate(sequence("c", [1, 1, 2, 2, 3]), 5)
    manager.check()


def test_a_fork_shares_until_it_writes_and_then_copies_once() -> None:
    manager = BlockManager(8, 4)
    parent = computed(manager, sequence("a", [1, 2, 3, 4, 5, 6]))
    child = sequence("a2", [1, 2, 3, 4, 5, 6])
    manager.fork(parent, child)
    assert (manager.share(parent), manager.num_held) == (1.0, 2)
    child.token_ids.append(7)
    assert manager.allocate(child, 1)
    assert manager.pending_copies == [(1, child.block_tables[0][1])]
    assert child.block_tables[0][0] == 0
    assert child.block_tables[0][1] != 1
    parent.token_ids.append(8)
    assert manager.allocate(parent, 1)
    assert parent.block_tables[0] == [0, 1]
    assert len(manager.pending_copies) == 1
    manager.check()


def test_a_window_lets_go_of_what_no_query_sees() -> None:
    manager = BlockManager(8, 2, [None, 3])
    one = computed(manager, sequence("a", [1, 2, 3, 4, 5, 6, 7]))
    # The next query, at position 7, sees positions 5, 6, 7: blocks 2 and 3.
    assert one.block_tables[0] == [0, 1, 2, 3]
    assert one.block_tables[1][:2] == [NULL_BLOCK, NULL_BLOCK]
    assert manager.num_held == 6


def test_a_windowed_hit_needs_only_the_windows_blocks() -> None:
    manager = BlockManager(12, 2, [None, 3])
    one = computed(manager, sequence("a", [1, 2, 3, 4, 5, 6, 7]))
    manager.free(one)
    cache = manager.prefix_cache
    assert cache
    gone = next(i for (group, _), i in cache.hash_to_block.items() if group == 1)
    manager.free_list.revive(gone)  # evict the first block of the windowed group
    cache.forget(manager.blocks[gone])
    manager.free_list.put_empty(gone)
    assert manager.cached_blocks(sequence("b", [1, 2, 3, 4, 5, 6, 9])) == 3


def test_at_drain_all_counts_are_zero() -> None:
    manager = BlockManager(16, 2, [None, 4])
    made = [computed(manager, sequence(str(i), [1, 2, 3, 4, i, i, i])) for i in range(3)]
    for one in made:
        manager.free(one)
    manager.check()
    assert {block.ref_count for block in manager.blocks} == {0}
    assert manager.num_free + manager.num_cached == 16


def test_a_growing_sequence_keeps_its_blocks_together_beside_others() -> None:
    manager = BlockManager(32, 2, enable_prefix_caching=False)
    first, second = (computed(manager, sequence(name, [1, 2, 3, 4], max_tokens=8)) for name in "ab")
    for token in range(8):
        for one in (first, second):
            one.token_ids.append(token)
            computed(manager, one, 1)
    assert first.block_tables[0] == [0, 1, 2, 3, 4, 5]
    assert second.block_tables[0] == [6, 7, 8, 9, 10, 11]


def test_blocks_behind_rejected_drafts_are_given_back() -> None:
    manager = BlockManager(8, 2)
    one = computed(manager, sequence("a", [1, 2]))
    one.token_ids.append(3)
    assert manager.allocate(one, 5)
    assert len(one.block_tables[0]) == 4
    manager.trim(one)
    assert len(one.block_tables[0]) == 2
    manager.check()


def test_block_names_are_the_same_in_every_process() -> None:
    code = "from probe.engine.kv.prefix import *; print(block_hash(ROOT, [1, 2, 3]).hex())"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "77"}
    )
    assert other.stdout.strip() == block_hash(ROOT, [1, 2, 3]).hex() == "8fbbd862608aa6bc21d724c4ae59ed9e"


def test_names_differ_by_parent() -> None:
    assert block_hash(block_hash(ROOT, [0]), [1]) != block_hash(ROOT, [1])


@pytest.mark.parametrize(("name", "blocks", "size"), [("num_blocks", 0, 4), ("block_size", 4, 0)])
def test_an_impossible_pool_is_refused_by_name(name: str, blocks: int, size: int) -> None:
    with pytest.raises(ValueError, match=name):
        BlockManager(blocks, size)


class TestMutants:
    """Each fault of the books is found by check()."""

    def test_a_wrong_reference_count_is_found(self) -> None:
        manager = BlockManager(8, 2)
        one = computed(manager, sequence("a", [1, 2, 3]))
        manager.blocks[one.block_tables[0][0]].ref_count += 1
        with pytest.raises(IntegrityError, match="reference count 2, holders 1"):
            manager.check()

    def test_a_block_table_off_by_one_is_found(self) -> None:
        manager = BlockManager(8, 2)
        one = computed(manager, sequence("a", [1, 2, 3]))
        one.block_tables[0][0] += 1
        with pytest.raises(IntegrityError, match="block 0: reference count 1, holders 0"):
            manager.check()

    def test_a_stale_hash_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(PrefixCache, "forget", lambda self, block: None)
        manager = BlockManager(2, 2)
        manager.free(computed(manager, sequence("a", [1, 2, 3, 4])))
        with pytest.raises(IntegrityError, match="stale hash"):
            computed(manager, sequence("b", [7, 7, 8, 8]))

    def test_a_leaked_block_is_found(self) -> None:
        manager = BlockManager(4, 2)
        manager.free_list.take(1, after=None, owner="nobody", expected=1)
        with pytest.raises(IntegrityError):
            manager.check()
