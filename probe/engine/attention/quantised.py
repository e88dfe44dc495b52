"""How does any attention backend read an eight-bit cache? The step's blocks are dequantised into a small cache of their own.

That moves more bytes than it saves: on a CPU an eight-bit cache buys capacity, not speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.errors import ProbeError
from probe.engine.interfaces import AttentionBackend
from probe.engine.kv.cache import LayerCache
from probe.engine.kv.quant import QuantisedLayerCache
from probe.engine.models.spec import AttentionSpec


@dataclass(frozen=True)
class _Compact:
    """A group whose blocks are renumbered 0..n-1. Attributes: block_ids: [n] the cache's ids; group: the renumbered view."""

    block_ids: Tensor
    group: GroupMetadata


class QuantisedAttention:
    """Wraps a backend: writes codes, and gives it dequantised blocks to attend to. New tokens are read back as stored."""

    def __init__(self, inner: AttentionBackend) -> None:
        self._inner = inner

    def plan(self, batch: BatchMetadata) -> None:
        compact = [_compact(group, batch.block_size) for group in batch.groups]
        for group, renumbered in zip(batch.groups, compact, strict=True):
            group.plan = renumbered
        self._inner.plan(
            BatchMetadata(batch.num_new, batch.num_past, batch.block_size, batch.positions, [c.group for c in compact])
        )

    def write(self, key: Tensor, value: Tensor | None, cache: LayerCache, group: GroupMetadata) -> None:
        _quantised(cache).store(key, value, group.slot_mapping)

    def attend(
        self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec, sinks: Tensor | None
    ) -> Tensor:
        compact: _Compact = group.plan
        blocks = _quantised(cache).blocks(compact.block_ids, query.dtype)
        return self._inner.attend(query, blocks, compact.group, spec, sinks)


def _quantised(cache: LayerCache) -> QuantisedLayerCache:
    if not isinstance(cache, QuantisedLayerCache):
        raise ProbeError(f"kv_cache_dtype: the cache holds {cache.key.dtype}, not eight-bit codes")
    return cache


def _compact(group: GroupMetadata, block_size: int) -> _Compact:
    ids = sorted({block for table in group.block_tables for block in table if block >= 0})
    new_id = {block: i for i, block in enumerate(ids)}
    tables = [[new_id.get(block, -1) for block in table] for table in group.block_tables]
    device = group.slot_mapping.device
    lookup = torch.zeros(max(ids, default=0) + 1, dtype=torch.long)
    lookup[ids] = torch.arange(len(ids))
    slots = lookup.to(device)[group.slot_mapping // block_size] * block_size + group.slot_mapping % block_size
    return _Compact(torch.tensor(ids, dtype=torch.long, device=device), GroupMetadata(group.window, tables, slots))
