"""Which block is taken next? One that lies behind the sequence's last, else in a long free run, else the one cached longest."""

from __future__ import annotations

from collections import OrderedDict

_FREE = b"\x01"


class FreeList:
    """Unreferenced blocks: empty ones, and cached ones in the order in which they are evicted.

    Blocks of one sequence that lie together are read as one view instead of being gathered, so a sequence claims the run that
    it is expected to grow into. A claim is a wish: it holds nothing, others take the run's blocks when no others are left.
    """

    def __init__(self, num_blocks: int) -> None:
        self._empty = bytearray(_FREE * num_blocks)  # 1: unreferenced and without contents
        self._open = bytearray(_FREE * num_blocks)  # 1: empty and claimed by nobody
        self._claimed = bytearray(num_blocks)
        self._claims: dict[object, tuple[int, int]] = {}
        self._num_empty = num_blocks
        self.cached: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return self._num_empty + len(self.cached)

    @property
    def num_empty(self) -> int:
        return self._num_empty

    def is_empty(self, block_id: int) -> bool:
        return bool(self._empty[block_id])

    def take(self, count: int, *, after: int | None, owner: object, expected: int) -> list[int]:
        """`count` blocks (the caller knows that there are as many), those evicted last.

        after: the sequence's last block, None for a new one; expected: blocks a new sequence may come to need in all.
        """
        taken: list[int] = []
        while len(taken) < count and self._num_empty:
            block_id = self._next_empty(after, owner, count - len(taken), expected)
            self._empty[block_id] = self._open[block_id] = 0
            self._num_empty -= 1
            taken.append(block_id)
            after = block_id
        evicted = [self.cached.popitem(last=False)[0] for _ in range(count - len(taken))]
        # Freed tail first, so evicted in descending order; ascending ones can be read as a run.
        return taken + sorted(evicted)

    def _next_empty(self, after: int | None, owner: object, count: int, expected: int) -> int:
        if (
            after is not None
            and after + 1 < len(self._empty)
            and self._empty[after + 1]
            and self._may_use(after + 1, owner)
        ):
            return after + 1
        for length in (max(count, expected), count, 1):
            start = self._open.find(_FREE * length)
            if start >= 0:
                if after is None and length > 1 and owner not in self._claims:
                    self._claim(owner, start, length)
                return start
        return self._empty.find(_FREE)

    def _may_use(self, block_id: int, owner: object) -> bool:
        if not self._claimed[block_id]:
            return True
        start, stop = self._claims.get(owner, (0, 0))
        return start <= block_id < stop

    def _claim(self, owner: object, start: int, length: int) -> None:
        self._claims[owner] = (start, start + length)
        self._claimed[start : start + length] = _FREE * length
        self._open[start : start + length] = bytes(length)

    def release_claim(self, owner: object) -> None:
        start, stop = self._claims.pop(owner, (0, 0))
        self._claimed[start:stop] = bytes(stop - start)
        self._open[start:stop] = self._empty[start:stop]

    def put_empty(self, block_id: int) -> None:
        self._empty[block_id] = 1
        self._open[block_id] = not self._claimed[block_id]
        self._num_empty += 1

    def put_cached(self, block_id: int) -> None:
        self.cached[block_id] = None

    def revive(self, block_id: int) -> None:
        """A cached block is referenced again."""
        del self.cached[block_id]
