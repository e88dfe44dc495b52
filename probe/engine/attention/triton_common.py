"""What do the Triton kernels need to know of a step and of a head's shape?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from probe.engine.attention.metadata import BatchMetadata, GroupMetadata

SMALLEST_DOT = 16  # tl.dot takes no smaller side
# Rows wider than this (MLA) are taken in smaller tiles or by more warps, for what is kept of them must stay in registers.
WIDE, WARPS_WIDE = 256, 8


@dataclass(frozen=True)
class HeadShape:
    """A key row cut in two powers of two, so that no lane is wasted on 576 (MLA: 512 + 64), 192 or 96.

    Attributes:
        main, tail: the key's first part, and the rest rounded up to a power of two (0: there is none).
        tail_used: of `tail`, what the key has.
        value: the value's width rounded up to a power of two; value_used: what it has.
    """

    main: int
    tail: int
    tail_used: int
    value: int
    value_used: int

    def constants(self, key_dim: int) -> dict[str, int]:
        """As the kernels call them."""
        return {
            "MAIN": self.main,
            "KEY_USED": min(key_dim, self.main),
            "TAIL": self.tail,
            "TAIL_USED": self.tail_used,
            "VALUE": self.value,
            "VALUE_USED": self.value_used,
        }


def power_of_two(n: int) -> int:
    """The least power of two >= n and >= 16."""
    return max(SMALLEST_DOT, 1 << (n - 1).bit_length())


def head_shape(key_dim: int, value_dim: int) -> HeadShape:
    if key_dim < SMALLEST_DOT:
        return HeadShape(SMALLEST_DOT, 0, 0, power_of_two(value_dim), value_dim)
    main = 1 << (key_dim.bit_length() - 1)
    rest = key_dim - main
    return HeadShape(main, power_of_two(rest) if rest else 0, rest, power_of_two(value_dim), value_dim)


@dataclass(frozen=True)
class DeviceTables:
    """One KV group's step on the device.

    Attributes:
        block_tables: [sequences, most blocks] int32; unused entries and blocks that a window has passed are 0 and never read.
        query_starts: [sequences + 1] int32, first new token of each; num_past: [sequences] int32.
        longest: tokens of the longest context, the new ones included.
    """

    block_tables: Tensor
    query_starts: Tensor
    num_past: Tensor
    longest: int


class FixedTables(DeviceTables):
    """Tables that a recorded step reads: they keep their place, and their owner fills them before each replay."""


def device_tables(batch: BatchMetadata, group: GroupMetadata) -> DeviceTables:
    device = group.slot_mapping.device
    longest = max(past + new for past, new in zip(batch.num_past, batch.num_new, strict=True))
    return DeviceTables(
        torch.from_numpy(padded(group.block_tables)).to(device, non_blocking=True),
        _int32([*batch.starts, batch.num_tokens], device),
        _int32(batch.num_past, device),
        longest,
    )


def padded(tables: list[list[int]]) -> npt.NDArray[np.int32]:
    """[sequences, most blocks]. By rows of an array: 16,000 blocks take 0.3 ms so, 2.6 ms as lists, of each step."""
    rows = np.zeros((len(tables), max(len(table) for table in tables)), np.int32)
    for row, table in zip(rows, tables, strict=True):
        row[: len(table)] = table
    return np.maximum(rows, 0)


def _int32(values: list[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32).to(device, non_blocking=True)
