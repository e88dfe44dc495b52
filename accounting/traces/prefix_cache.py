"""How many leading blocks of a request does a prefix cache still hold? A pure simulation over block ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

BLOCK_TOKENS = 512
"""Tokens of a block in Mooncake's traces; the last block of a request may hold fewer."""


class PrefixCache:
    """Blocks by last use. A block id names a block together with all that precedes it, so a hit is a run of leading ids.

    Every block of a request is used when the request comes, hit or not, and is there for the next request, also one of the
    same instant. Where blocks must go, the least recently used goes first; within a request the tail goes before the head, so
    what remains is always a prefix. Memory: the blocks held, before eviction also those of the request at hand.

    Args:
        lifetime: how long after its last use a block can be hit, that instant included, in the unit of `now`; None: for ever.
        capacity: blocks held at most; None: all.
    """

    def __init__(self, lifetime: int | None = None, capacity: int | None = None) -> None:
        if (lifetime is not None and lifetime < 0) or (capacity is not None and capacity < 0):
            raise ValueError(f"lifetime {lifetime} and capacity {capacity} can't be negative")
        self.lifetime = lifetime
        self.capacity = capacity
        self._last_use: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._last_use)

    def serve(self, now: int, blocks: Sequence[int]) -> int:
        """Number of leading blocks hit by a request at `now`, which must not lie before the request before it."""
        self._expire(now)
        hits = next((at for at, block in enumerate(blocks) if block not in self._last_use), len(blocks))
        for block in reversed(blocks):
            self._last_use[block] = now
            self._last_use.move_to_end(block)
        while self.capacity is not None and len(self._last_use) > self.capacity:
            self._last_use.popitem(last=False)
        return hits

    def _expire(self, now: int) -> None:
        if self.lifetime is None:
            return
        while self._last_use:
            oldest = next(iter(self._last_use.values()))
            if now - oldest <= self.lifetime:
                return
            self._last_use.popitem(last=False)


def cached_tokens(hits: int, input_tokens: int) -> int:
    """Input tokens read from the cache. The last token of a prompt is always computed: without it nothing can be answered."""
    return min(hits * BLOCK_TOKENS, input_tokens - 1)
