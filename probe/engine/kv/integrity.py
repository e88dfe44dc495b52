"""Do the books of the KV cache balance?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe.engine.errors import IntegrityError
from probe.engine.kv.block import NULL_BLOCK, Block
from probe.engine.kv.free_list import FreeList
from probe.engine.kv.prefix import block_hash

if TYPE_CHECKING:
    from probe.engine.kv.block_manager import BlockManager


def check_integrity(manager: BlockManager) -> None:
    """Raises IntegrityError unless free + cached + held = total, counts equal holders, and names lead to their contents."""
    counts = [0] * manager.num_blocks
    for sequence in manager.holders.values():
        for table in sequence.block_tables:
            for index, block_id in enumerate(table):
                if block_id == NULL_BLOCK:
                    continue
                counts[block_id] += 1
                name = manager.blocks[block_id].hash
                if name is not None and name != sequence.block_hashes[index]:
                    raise IntegrityError(f"block {block_id} has a stale hash: {sequence} holds other tokens in it")
    for block, count in zip(manager.blocks, counts, strict=True):
        _check_block(block, count, manager.free_list)
    held = sum(1 for count in counts if count)
    if manager.num_free + manager.num_cached + held != manager.num_blocks:
        found = f"free {manager.num_free} + cached {manager.num_cached} + held {held}"
        raise IntegrityError(f"{found} != total {manager.num_blocks}")
    for (group, name), block_id in (manager.prefix_cache.hash_to_block if manager.prefix_cache else {}).items():
        if (manager.blocks[block_id].group, manager.blocks[block_id].hash) != (group, name):
            raise IntegrityError(f"stale hash {name.hex()} of group {group} leads to block {block_id}")


def _check_block(block: Block, count: int, free_list: FreeList) -> None:
    if block.ref_count != count:
        raise IntegrityError(f"block {block.block_id}: reference count {block.ref_count}, holders {count}")
    cached, empty = block.block_id in free_list.cached, free_list.is_empty(block.block_id)
    if [cached, empty, count > 0].count(True) != 1:
        raise IntegrityError(f"block {block.block_id}: {count} holders, cached {cached}, empty {empty}")
    if block.hash is None:
        if cached:
            raise IntegrityError(f"block {block.block_id} is cached without a hash")
    elif empty or block.hash != block_hash(block.parent, block.token_ids):
        raise IntegrityError(f"block {block.block_id}: its hash is not that of its tokens")
