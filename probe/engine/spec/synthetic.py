"""What does speculation cost at a given acceptance? Random weights accept nothing of interest, so acceptance can be stated."""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Sequence as Seq

from torch import Tensor

from probe.engine.interfaces import Draft, Sampler, Work
from probe.engine.kv.sequence import Sequence


class RandomProposer:
    """Proposes k tokens of no meaning; the verify step costs what it would cost with real ones.

    Attributes: k: tokens proposed; may be changed between steps. vocabulary: ids are below it.
    """

    work = Work()

    def __init__(self, k: int, vocabulary: int, seed: int = 0) -> None:
        if k < 0:
            raise ValueError(f"k: {k} is negative")
        self.k, self.vocabulary = k, vocabulary
        self._random = random.Random(seed)

    def propose(self, sequences: Seq[Sequence]) -> list[Draft]:
        return [Draft(tuple(self._random.randrange(self.vocabulary) for _ in range(self.k))) for _ in sequences]

    def forget(self, request_id: str) -> None:
        """Nothing is kept of a request."""


class SyntheticAcceptance:
    """A sampler that keeps drafts at stated rates, whatever the models say. The output is not the target's: for timing only.

    Attributes:
        rates: probability of keeping position i, given that the ones before were kept; positions past the end take the last.
    """

    def __init__(self, rates: Seq[float], sampler: Sampler, uniform: Callable[[], float] | None = None) -> None:
        if not rates:
            raise ValueError("rates: at least one acceptance rate is needed")
        for rate in rates:
            if not 0.0 <= rate <= 1.0:
                raise ValueError(f"rates: {rate} is not in [0, 1]")
        self.rates = tuple(rates)
        self._sampler = sampler
        self._uniform = uniform or random.Random(0).random

    def __call__(self, logits: Tensor, sequence: Sequence, draft: Draft | None) -> list[int]:
        drafted = draft.token_ids[: logits.shape[0] - 1] if draft else ()
        kept = 0
        while kept < len(drafted) and self._uniform() < self.rates[min(kept, len(self.rates) - 1)]:
            kept += 1
        return [*drafted[:kept], *self._sampler(logits[kept : kept + 1], sequence, None)]
