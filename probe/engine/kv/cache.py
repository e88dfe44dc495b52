"""Where do keys and values lie? One paged tensor pair a layer of a page, shared by all KV groups."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from probe.engine.models.spec import AttentionSpec


@dataclass(frozen=True)
class LayerCache:
    """Keys and values of one layer of the page.

    Attributes:
        key: [num_blocks, block_size, kv heads, key width].
        value: [num_blocks, block_size, kv heads, value width]; for MLA a view of the key's first columns, nothing of its own.
    """

    key: Tensor
    value: Tensor

    @classmethod
    def allocate(
        cls, spec: AttentionSpec, num_blocks: int, block_size: int, dtype: torch.dtype, device: torch.device
    ) -> LayerCache:
        # Zeros, not empty: a masked slot is multiplied by 0, and 0 times an uninitialised NaN is NaN.
        key = torch.zeros(spec.key_shape(num_blocks, block_size), dtype=dtype, device=device)
        shape = spec.value_shape(num_blocks, block_size)
        value = key[..., : spec.value_dim] if shape is None else torch.zeros(shape, dtype=dtype, device=device)
        return cls(key, value)

    def copy_block(self, source: int, target: int) -> None:
        """Copy-on-write of one block."""
        self.key[target].copy_(self.key[source])
        if self.value.untyped_storage().data_ptr() != self.key.untyped_storage().data_ptr():
            self.value[target].copy_(self.value[source])
