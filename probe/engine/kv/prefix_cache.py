"""Which blocks already hold the beginning of a sequence?"""

from __future__ import annotations

from collections.abc import Sequence as Seq

from probe.engine.kv.block import NULL_BLOCK, Block
from probe.engine.kv.prefix import ROOT, extend_hashes
from probe.engine.kv.sequence import Sequence


def first_needed(window: int | None, num_computed: int, block_size: int) -> int:
    """First block that a query at position `num_computed` still sees."""
    return 0 if window is None else max(0, num_computed - window + 1) // block_size


class PrefixCache:
    """Full, computed blocks by (KV group, hash). The first of equal blocks keeps the name: tables only grow, ids never change."""

    def __init__(self, blocks: Seq[Block], block_size: int, windows: Seq[int | None]) -> None:
        self.blocks, self.block_size, self.windows = blocks, block_size, windows
        self.hash_to_block: dict[tuple[int, bytes], int] = {}

    def longest_hit(self, sequence: Sequence) -> int:
        """Leading blocks that every group can go on from: at most len - 1 tokens, so that a query is left."""
        extend_hashes(sequence.block_hashes, sequence.token_ids, self.block_size)
        best = (sequence.num_tokens - 1) // self.block_size
        while best > 0:
            shortest = min(self._group_hit(group, sequence, best) for group in range(len(self.windows)))
            if shortest == best:
                return best
            best = shortest
        return 0

    def _group_hit(self, group: int, sequence: Sequence, limit: int) -> int:
        """The longest prefix of at most `limit` blocks that the group can go on from."""
        window = self.windows[group]
        if window is None:
            return next((i for i in range(limit) if self.find(group, sequence, i) is None), limit)
        run, wanted = 0, 0
        for index in range(limit - 1, -1, -1):
            if run == 0:
                wanted = index + 1 - first_needed(window, (index + 1) * self.block_size, self.block_size)
            run = run + 1 if self.find(group, sequence, index) is not None else 0
            if run and run >= wanted:
                return index + run
        return 0

    def find(self, group: int, sequence: Sequence, index: int) -> int | None:
        """The block with the contents of the sequence's block `index`; None if there is none."""
        block_id = self.hash_to_block.get((group, sequence.block_hashes[index]))
        if block_id is None:
            return None
        block = self.blocks[block_id]
        # A hash is a name, not a proof: equal tokens behind an equal parent are.
        parent = sequence.block_hashes[index - 1] if index else ROOT
        return block_id if block.parent == parent and block.token_ids == self._tokens(sequence, index) else None

    def _tokens(self, sequence: Sequence, index: int) -> tuple[int, ...]:
        return tuple(sequence.token_ids[index * self.block_size : (index + 1) * self.block_size])

    def hit_blocks(self, group: int, sequence: Sequence, hit: int) -> list[int]:
        """The table of a hit of `hit` blocks; NULL_BLOCK where the group's window has passed."""
        first = min(hit, first_needed(self.windows[group], hit * self.block_size, self.block_size))
        found = [self.find(group, sequence, index) for index in range(first, hit)]
        return [NULL_BLOCK] * first + [block_id for block_id in found if block_id is not None]

    def register(self, sequence: Sequence) -> None:
        """Names the blocks that have become full and computed."""
        extend_hashes(sequence.block_hashes, sequence.token_ids, self.block_size)
        full = sequence.num_computed_tokens // self.block_size
        for index in range(sequence.num_registered_blocks, full):
            name = sequence.block_hashes[index]
            for group, table in enumerate(sequence.block_tables):
                block_id = table[index]
                if (
                    block_id != NULL_BLOCK
                    and (group, name) not in self.hash_to_block
                    and self.blocks[block_id].hash is None
                ):
                    block = self.blocks[block_id]
                    block.hash, block.parent = name, sequence.block_hashes[index - 1] if index else ROOT
                    block.token_ids = self._tokens(sequence, index)
                    self.hash_to_block[group, name] = block_id
        sequence.num_registered_blocks = full

    def forget(self, block: Block) -> None:
        """The block gets other contents."""
        if block.hash is not None:
            del self.hash_to_block[block.group, block.hash]
            block.hash, block.parent, block.token_ids = None, ROOT, ()
