"""Paged steps with random contents, to compare attention backends on."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec

GQA = AttentionSpec(8, 2, 16, 16, 0.25)
MHA = AttentionSpec(4, 4, 16, 16, 0.25)
MQA = AttentionSpec(4, 1, 16, 16, 0.25)
MLA = AttentionSpec(4, 1, 24, 16, 0.2, shares_key=True)
WINDOWED = AttentionSpec(8, 2, 16, 16, 0.25, window=7)
SPECS = {"gqa": GQA, "mha": MHA, "mqa": MQA, "mla": MLA, "windowed": WINDOWED}


def step(
    spec: AttentionSpec,
    tables: list[list[int]],
    num_new: list[int],
    num_past: list[int],
    *,
    block_size: int = 4,
    blocks: int = 64,
) -> tuple[BatchMetadata, LayerCache, Tensor, Tensor]:
    """A step whose past already lies in the cache: batch, cache, query [T, H, D], sinks [H]."""
    torch.manual_seed(7)
    cache = LayerCache.allocate(spec, blocks, block_size, torch.float32, torch.device("cpu"))
    slots, positions = [], []
    for table, new, past in zip(tables, num_new, num_past, strict=True):
        seen = [table[i // block_size] * block_size + i % block_size for i in range(past + new)]
        visible = [slot for slot in seen if slot >= 0]
        key = torch.randn(len(visible), spec.num_kv_heads, spec.key_dim)
        value = None if spec.shares_key else torch.randn(len(visible), spec.num_kv_heads, spec.value_dim)
        cache.store(key, value, torch.tensor(visible))
        slots += seen[past:]
        positions += range(past, past + new)
    group = GroupMetadata(spec.window, tables, torch.tensor(slots))
    batch = BatchMetadata(num_new, num_past, block_size, torch.tensor(positions), [group], num_blocks=blocks)
    return batch, cache, torch.randn(sum(num_new), spec.num_heads, spec.key_dim), torch.randn(spec.num_heads)
