"""What should any attention backend return? The plain formula in float32, one sequence after another."""

from __future__ import annotations

import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata
from probe.engine.kv.cache import LayerCache
from probe.engine.models.spec import AttentionSpec


class DenseAttention:
    """The reference: gathers a sequence's blocks in order, masks, and takes the softmax of the whole score matrix."""

    def plan(self, batch: BatchMetadata) -> None:
        self.batch = batch

    def write(self, key: Tensor, value: Tensor | None, cache: LayerCache, group: GroupMetadata) -> None:
        cache.store(key, value, group.slot_mapping)

    def attend(
        self, query: Tensor, cache: LayerCache, group: GroupMetadata, spec: AttentionSpec, sinks: Tensor | None
    ) -> Tensor:
        """query [T, H, D] to [T, H, V]."""
        outputs = []
        batch = self.batch
        for start, new, past, table in zip(
            batch.starts, batch.num_new, batch.num_past, group.block_tables, strict=True
        ):
            key, value = self._gather(cache, table, past + new)
            outputs.append(attend_dense(query[start : start + new], key, value, spec, sinks))
        return torch.cat(outputs)

    def _gather(self, cache: LayerCache, table: list[int], length: int) -> tuple[Tensor, Tensor]:
        ids = torch.tensor(table, device=cache.key.device).clamp(min=0)  # what a passed window leaves is masked
        return cache.key[ids].flatten(0, 1)[:length], cache.value[ids].flatten(0, 1)[:length]


def attend_dense(query: Tensor, key: Tensor, value: Tensor, spec: AttentionSpec, sinks: Tensor | None) -> Tensor:
    """query [n, H, D] are the last n of the s positions of key [s, G, D], value [s, G, V]; returns [n, H, V] in query's dtype."""
    new, length = len(query), len(key)
    keys = key.float().repeat_interleave(spec.group_size, dim=1).transpose(0, 1)
    values = value.float().repeat_interleave(spec.group_size, dim=1).transpose(0, 1)
    scores = query.float().transpose(0, 1) @ keys.transpose(1, 2) * spec.scale
    seen = visible(length - new, new, length, spec.window, query.device)
    scores = scores.masked_fill(~seen, float("-inf"))
    if sinks is not None:
        scores = torch.cat((scores, sinks.float().view(-1, 1, 1).expand(-1, new, 1)), dim=-1)
    weights = scores.softmax(dim=-1)[..., :length]
    return (weights @ values).transpose(0, 1).to(query.dtype)


def visible(past: int, new: int, length: int, window: int | None, device: torch.device, first: int = 0) -> Tensor:
    """[new, length - first] of bool: which keys first..length-1 the queries past..past+new-1 see."""
    queries = torch.arange(past, past + new, device=device).unsqueeze(1)
    keys = torch.arange(first, length, device=device)
    seen = keys <= queries
    return seen if window is None else seen & (keys > queries - window)
