"""What followed the last time these tokens stood here? The n-gram proposer needs no second model."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from probe.engine.interfaces import Draft, Work
from probe.engine.kv.sequence import Sequence


class NgramProposer:
    """Finds the sequence's last n tokens earlier in it, the longest n first, and proposes the k tokens that followed.

    Attributes:
        k: tokens proposed at most; may be changed between steps, 0 proposes nothing.
        min_n, max_n: lengths of the pattern.
    """

    work = Work()

    def __init__(self, k: int = 4, min_n: int = 1, max_n: int = 3) -> None:
        if k < 0:
            raise ValueError(f"k: {k} is negative")
        if not 1 <= min_n <= max_n:
            raise ValueError(f"min_n, max_n: {min_n}, {max_n} are not 1 <= min_n <= max_n")
        self.k, self.min_n, self.max_n = k, min_n, max_n

    def propose(self, sequences: Seq[Sequence]) -> list[Draft]:
        return [Draft(self.after(sequence.token_ids)) for sequence in sequences]

    def after(self, token_ids: Seq[int]) -> tuple[int, ...]:
        """Up to k tokens that followed the latest earlier occurrence; () where there is none."""
        for n in range(min(self.max_n, len(token_ids) - 1), self.min_n - 1, -1):
            pattern = list(token_ids[-n:])
            for start in range(len(token_ids) - n - 1, -1, -1):
                if list(token_ids[start : start + n]) == pattern:
                    return tuple(token_ids[start + n : start + n + self.k])
        return ()

    def forget(self, request_id: str) -> None:
        """Nothing is kept between steps."""
