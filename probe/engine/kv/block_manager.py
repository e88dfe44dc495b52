"""Which KV blocks does each sequence hold, and which of them are shared?

A pool of equal blocks serves every KV group (layers of one window). A block is free, cached (unreferenced, contents kept under
their hash until someone needs the block) or held by as many sequences as its reference count says.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq

from probe.engine.errors import OutOfBlocks
from probe.engine.kv.block import NULL_BLOCK, Block
from probe.engine.kv.free_list import FreeList
from probe.engine.kv.integrity import check_integrity
from probe.engine.kv.prefix_cache import PrefixCache, first_needed
from probe.engine.kv.sequence import Sequence


class BlockManager:
    """Block tables, reference counts and the prefix cache of one pool.

    windows: one entry a KV group, the tokens its layers see (None: all). `pending_copies` are (source, target) blocks that
    must be copied, in order, before the step writes anything.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        windows: Seq[int | None] = (None,),
        *,
        enable_prefix_caching: bool = True,
    ) -> None:
        for name, value in (("num_blocks", num_blocks), ("block_size", block_size), ("windows", len(windows))):
            if value < 1:
                raise ValueError(f"{name}: {value} is out of range")
        self.block_size, self.windows = block_size, tuple(windows)
        self.blocks = [Block(block_id) for block_id in range(num_blocks)]
        self.free_list = FreeList(num_blocks)
        self.prefix_cache = PrefixCache(self.blocks, block_size, self.windows) if enable_prefix_caching else None
        self.holders: dict[tuple[str, int], Sequence] = {}
        self.pending_copies: list[tuple[int, int]] = []

    @property
    def num_blocks(self) -> int:
        return len(self.blocks)

    @property
    def num_free(self) -> int:
        """Blocks without contents."""
        return self.free_list.num_empty

    @property
    def num_cached(self) -> int:
        """Unreferenced blocks whose contents can still be found."""
        return len(self.free_list.cached)

    @property
    def num_held(self) -> int:
        return self.num_blocks - len(self.free_list)

    def blocks_needed(self, num_tokens: int, chunk: int) -> int:
        """The most blocks that a sequence of so many tokens holds at once, alone, prefilled in chunks of `chunk` tokens."""
        needed = 0
        for window in self.windows:
            seen = num_tokens if window is None else min(num_tokens, window + chunk + self.block_size)
            needed += -(-seen // self.block_size)
        return needed

    def cached_blocks(self, sequence: Sequence) -> int:
        """Leading blocks that need no computing."""
        return self.prefix_cache.longest_hit(sequence) if self.prefix_cache else 0

    def allocate(self, sequence: Sequence, num_new_tokens: int) -> bool:
        """Holds blocks for the next `num_new_tokens` tokens; at first also takes what the prefix cache has of the sequence.

        Groups that see all get blocks for the whole prompt at once, so that an admitted prompt is never stuck half-way.
        False: they don't fit, nothing has changed.
        """
        known = sequence.key in self.holders
        hit = 0 if known else self.cached_blocks(sequence)
        computed = sequence.num_computed_tokens if known else hit * self.block_size
        if not known:
            num_new_tokens = min(num_new_tokens, sequence.num_tokens - computed)
        hits = self._hits(sequence, hit) if not known else []
        wanted = [self._wanted(group, sequence, computed, num_new_tokens) for group in range(len(self.windows))]
        have = [len(table) for table in (sequence.block_tables if known else hits)]
        copies = self._shared_tails(sequence, computed) if known else []
        new = [max(0, want - count) for want, count in zip(wanted, have, strict=True)]
        revived = sum(1 for table in hits for i in table if i != NULL_BLOCK and self.blocks[i].ref_count == 0)
        if sum(new) + len(copies) + revived > len(self.free_list):
            return False
        if not known:
            self._admit(sequence, hits, computed)
        for group, index in copies:
            self._copy_on_write(sequence, group, index)
        for group, count in enumerate(new):
            self._grow(sequence, group, count)
        return True

    def _hits(self, sequence: Sequence, hit: int) -> list[list[int]]:
        if self.prefix_cache is None:
            return [[] for _ in self.windows]
        return [self.prefix_cache.hit_blocks(group, sequence, hit) for group in range(len(self.windows))]

    def _wanted(self, group: int, sequence: Sequence, computed: int, num_new_tokens: int) -> int:
        tokens = computed + num_new_tokens
        if self.windows[group] is None:
            tokens = max(tokens, sequence.num_tokens)
        return -(-tokens // self.block_size)

    def _shared_tails(self, sequence: Sequence, computed: int) -> list[tuple[int, int]]:
        """(group, index) of partly filled blocks that others hold too: they must be copied before they are written."""
        index, filled = divmod(computed, self.block_size)
        if not filled:
            return []
        tables = enumerate(sequence.block_tables)
        return [(group, index) for group, table in tables if self.blocks[table[index]].ref_count > 1]

    def _admit(self, sequence: Sequence, hits: list[list[int]], computed: int) -> None:
        for table in hits:
            for block_id in table:
                if block_id != NULL_BLOCK:
                    self._reference(block_id)
        sequence.block_tables = hits
        sequence.num_computed_tokens = computed
        sequence.num_registered_blocks = computed // self.block_size
        if sequence.num_cached_tokens is None:
            sequence.num_cached_tokens = computed
        sequence.unrecorded_hit = computed
        self.holders[sequence.key] = sequence

    def _grow(self, sequence: Sequence, group: int, count: int) -> None:
        if not count:
            return
        table = sequence.block_tables[group]
        last = table[-1] if table else NULL_BLOCK
        expected = -(-sequence.max_tokens_total // self.block_size) - len(table)
        window = self.windows[group]
        if window is not None:
            expected = min(expected, -(-window // self.block_size) + count)
        table += self._take(count, None if last == NULL_BLOCK else last, (sequence.key, group), expected, group)

    def _take(self, count: int, after: int | None, owner: object, expected: int, group: int) -> list[int]:
        if count > len(self.free_list):
            raise OutOfBlocks(f"{count} blocks wanted, {len(self.free_list)} unreferenced of {self.num_blocks}")
        taken = self.free_list.take(count, after=after, owner=owner, expected=expected)
        for block_id in taken:
            block = self.blocks[block_id]
            if self.prefix_cache:
                self.prefix_cache.forget(block)
            block.ref_count, block.group = 1, group
        return taken

    def _copy_on_write(self, sequence: Sequence, group: int, index: int) -> None:
        table = sequence.block_tables[group]
        source = table[index]
        [target] = self._take(1, None, (sequence.key, group), 1, group)
        self.pending_copies.append((source, target))
        table[index] = target
        self._dereference(source)

    def commit(self, sequence: Sequence) -> None:
        """After a step: names the blocks that are now full and computed, and lets go of those that the window has passed."""
        if self.prefix_cache:
            self.prefix_cache.register(sequence)
        for group, table in enumerate(sequence.block_tables):
            for index in range(
                first_needed(self.windows[group], sequence.num_computed_tokens, self.block_size) - 1, -1, -1
            ):
                if table[index] == NULL_BLOCK:
                    break
                self._dereference(table[index])
                table[index] = NULL_BLOCK

    def trim(self, sequence: Sequence) -> None:
        """Gives back blocks behind the last token: what was held for drafted tokens that were rejected."""
        needed = -(-sequence.num_tokens // self.block_size)
        for table in sequence.block_tables:
            while len(table) > needed:
                self._dereference(table.pop())

    def fork(self, parent: Sequence, child: Sequence) -> None:
        """`child` goes on from all that `parent` has computed; they share every block until one of them writes."""
        child.block_tables = [list(table) for table in parent.block_tables]
        child.block_hashes = list(parent.block_hashes)
        child.num_computed_tokens = child.max_computed_tokens = parent.num_computed_tokens
        child.num_registered_blocks = parent.num_registered_blocks
        child.num_cached_tokens = parent.num_cached_tokens
        for table in child.block_tables:
            for block_id in table:
                if block_id != NULL_BLOCK:
                    self._reference(block_id)
        self.holders[child.key] = child

    def free(self, sequence: Sequence) -> None:
        """Ends the sequence's hold, last block first: of what stays cached, tails are evicted before the prefixes they need."""
        if self.holders.pop(sequence.key, None) is None:
            return
        for group, table in enumerate(sequence.block_tables):
            for block_id in reversed(table):
                if block_id != NULL_BLOCK:
                    self._dereference(block_id)
            self.free_list.release_claim((sequence.key, group))
        sequence.block_tables = []
        sequence.num_registered_blocks = 0

    def _reference(self, block_id: int) -> None:
        block = self.blocks[block_id]
        if block.ref_count == 0:
            self.free_list.revive(block_id)
        block.ref_count += 1

    def _dereference(self, block_id: int) -> None:
        block = self.blocks[block_id]
        block.ref_count -= 1
        if block.ref_count == 0:
            if block.hash is None:
                self.free_list.put_empty(block_id)
            else:
                self.free_list.put_cached(block_id)

    def share(self, sequence: Sequence) -> float:
        """Blocks held, a block of n holders counting 1/n."""
        held = (block_id for table in sequence.block_tables for block_id in table if block_id != NULL_BLOCK)
        return sum(1.0 / self.blocks[block_id].ref_count for block_id in held)

    def check(self) -> None:
        """Raises IntegrityError unless free + cached + held = total, every count has its holders and every name its block."""
        check_integrity(self)
