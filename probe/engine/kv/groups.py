"""Which layers can share block tables, and what does a block cost? Layers of one window, in groups of one size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from probe.engine.errors import ProbeError


@dataclass(frozen=True)
class KVGroup:
    """Layers that see the same window. A block of the pool is a page of as many layers as a group has."""

    window: int | None
    layers: tuple[int, ...]


def kv_groups(windows: Sequence[int | None]) -> list[KVGroup]:
    """Equal groups, so that any block can serve any group: their size is the greatest common divisor of the layers a window.

    12 full and 12 windowed layers make two groups of 12, whose windowed one frees what its window has passed.
    """
    by_window: dict[int | None, list[int]] = {}
    for layer, window in enumerate(windows):
        by_window.setdefault(window, []).append(layer)
    size = math.gcd(*(len(layers) for layers in by_window.values()))
    return [
        KVGroup(window, tuple(layers[start : start + size]))
        for window, layers in by_window.items()
        for start in range(0, len(layers), size)
    ]


def num_blocks_for(budget_bytes: int, block_bytes: int) -> int:
    """Blocks that a memory budget holds; raises ProbeError where it holds none."""
    blocks = budget_bytes // block_bytes
    if blocks < 1:
        raise ProbeError(f"kv_cache_bytes: {budget_bytes} holds no block of {block_bytes} bytes")
    return blocks
