"""Which tokens of a step belong to whom, where do they lie in the cache, and where do they go?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor


@dataclass
class GroupMetadata:
    """One KV group's view of a step: layers that share block tables (all of one window).

    Attributes:
        window: tokens a query sees, itself included; None: all.
        block_tables: a list of block ids a sequence, NULL_BLOCK (-1) where the window has passed; host side.
        slot_mapping: [T] int64 on the device: block id * block_size + offset of each new token.
        plan: what the backend keeps for this step.
    """

    window: int | None
    block_tables: list[list[int]]
    slot_mapping: Tensor
    plan: Any = None


@dataclass
class BatchMetadata:
    """One step's tokens, sequences one after another.

    Attributes:
        num_new: new tokens of each sequence; num_past: tokens of each in the cache before.
        block_size: tokens a block.
        positions: [T] int64 on the device.
        groups: one a KV group.
        num_blocks: blocks of the pool; 0: not stated, a backend then reads no further than its sequences' own blocks.
    """

    num_new: list[int]
    num_past: list[int]
    block_size: int
    positions: Tensor
    groups: list[GroupMetadata] = field(default_factory=list)
    num_blocks: int = 0

    @property
    def num_tokens(self) -> int:
        return sum(self.num_new)

    @property
    def is_decode(self) -> bool:
        """Every sequence has one new token, so that sequences can be batched as rows."""
        return all(count == 1 for count in self.num_new)

    @property
    def starts(self) -> list[int]:
        """Index of each sequence's first new token among the step's tokens."""
        starts, total = [], 0
        for count in self.num_new:
            starts.append(total)
            total += count
        return starts
