"""What does a decode step of given lengths look like, without a prompt having been computed?"""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.kv.cache import LayerCache
from probe.engine.models.model import Model


def decode_batch(model: Model, batch: int, ctx: int, block_size: int) -> BatchMetadata:
    """`batch` sequences of `ctx` cached tokens that get one more; each has its own blocks, one after another."""
    blocks = blocks_each(ctx, block_size)
    tables = [list(range(i * blocks, (i + 1) * blocks)) for i in range(batch)]
    slots = torch.tensor(
        [table[ctx // block_size] * block_size + ctx % block_size for table in tables], device=model.device
    )
    groups = [GroupMetadata(group.window, tables, slots.clone()) for group in model.groups]
    positions = torch.full((batch,), ctx, dtype=torch.long, device=model.device)
    return BatchMetadata([1] * batch, [ctx] * batch, block_size, positions, groups, batch * blocks)


def filled_caches(model: Model, num_blocks: int, block_size: int) -> list[LayerCache]:
    """Caches of random contents: attention costs the same whatever they are, but zeros would be compressed or skipped."""
    caches = []
    for layer in model.groups[0].layers:
        cache = LayerCache.allocate(
            model.config.attention_spec(layer), num_blocks, block_size, model.dtype, model.device
        )
        cache.key.normal_()
        if not cache.shares_key:
            cache.value.normal_()
        caches.append(cache)
    return caches


def blocks_each(ctx: int, block_size: int) -> int:
    """Blocks of a sequence of `ctx` tokens and the new one."""
    return ctx // block_size + 1


def token_ids(model: Model, batch: int) -> Tensor:
    return torch.arange(batch, device=model.device) % model.config.vocab_size
