"""Where do keys and values lie? One paged tensor pair a layer of a page, shared by all KV groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from probe.engine.models.spec import AttentionSpec


class Memory(NamedTuple):
    """Addresses of keys and values; bytes from a slot to the next, and from a head to the next."""

    keys: int
    values: int
    slot: int
    head: int


@dataclass(frozen=True)
class LayerCache:
    """Keys and values of one layer of the page.

    The shape is token by head, the memory of a CPU cache is head by token: a head's keys of neighbouring blocks lie in one
    stretch, which its attention reads 1.6 times as fast.

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
        key = _zeros(spec.key_shape(num_blocks, block_size), dtype, device)
        shape = spec.value_shape(num_blocks, block_size)
        return cls(key, key[..., : spec.value_dim] if shape is None else _zeros(shape, dtype, device))

    @property
    def shares_key(self) -> bool:
        return self.value.data_ptr() == self.key.data_ptr()

    def slots(self) -> tuple[Tensor, Tensor]:
        """key and value as [slots, kv heads, width], views of the same memory."""
        return self._slots

    @cached_property
    def _slots(self) -> tuple[Tensor, Tensor]:
        return self.key.flatten(0, 1), self.value.flatten(0, 1)

    @cached_property
    def memory(self) -> Memory | None:
        """Where its rows lie, for kernels that are given addresses; None where keys and values are not laid out alike in bf16. MLA's values
        are the first columns of its keys."""
        keys, values = self._slots
        strides = {(one.stride(0), one.stride(1) if one.shape[1] > 1 else 0, one.stride(2)) for one in (keys, values)}
        if keys.dtype != torch.bfloat16 or len(strides) > 1 or keys.stride(2) != 1:
            return None
        return Memory(keys.data_ptr(), values.data_ptr(), 2 * keys.stride(0), 2 * keys.stride(1))

    def store(self, key: Tensor, value: Tensor | None, slots: Tensor) -> None:
        """key [T, kv heads, width] and value (None: a part of the key) to `slots` [T]."""
        keys, values = self.slots()
        keys[slots] = key
        if value is not None:
            values[slots] = value

    def copy_block(self, source: int, target: int) -> None:
        """Copy-on-write of one block."""
        self.key[target].copy_(self.key[source])
        if not self.shares_key:
            self.value[target].copy_(self.value[source])


def _zeros(shape: tuple[int, int, int, int], dtype: torch.dtype, device: torch.device) -> Tensor:
    # Zeros, not empty: a masked slot is multiplied by 0, and 0 times an uninitialised NaN is NaN.
    blocks, size, heads, width = shape
    if device.type == "cpu":
        return torch.zeros((heads, blocks, size, width), dtype=dtype).permute(1, 2, 0, 3)
    return torch.zeros(shape, dtype=dtype, device=device)
