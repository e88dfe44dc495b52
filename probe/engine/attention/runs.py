"""Which blocks of a sequence lie together in the cache, and can a whole batch be read as one view?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from probe.engine.kv.block import NULL_BLOCK


@dataclass(frozen=True)
class Run:
    """Neighbouring slots. Attributes: start: first slot; length: in tokens."""

    start: int
    length: int


def runs_of(table: list[int], first: int, length: int, block_size: int) -> list[Run]:
    """The slots of tokens first..length-1 as runs, in order."""
    runs: list[Run] = []
    for index in range(first // block_size, -(-length // block_size)):
        block_id = table[index]
        if block_id == NULL_BLOCK:
            raise IndexError(f"token {index * block_size} has no block, tokens from {first} on are wanted")
        begin = max(first, index * block_size)
        end = min(length, (index + 1) * block_size)
        start = block_id * block_size + begin - index * block_size
        if runs and runs[-1].start + runs[-1].length == start:
            runs[-1] = Run(runs[-1].start, runs[-1].length + end - begin)
        else:
            runs.append(Run(start, end - begin))
    return runs


def stride_of(starts: list[int]) -> int | None:
    """The distance of neighbouring starts if it is the same for all and positive, else None."""
    if len(starts) < 2:
        return None
    stride = starts[1] - starts[0]
    even = all(b - a == stride for a, b in pairwise(starts))
    return stride if even and stride > 0 else None
