"""Which requests are a pool's costs compared on: their token counts, and the same ones with longer contexts or other cache hits?"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted import own_terms
from accounting.selfhosted.arrays import UNKNOWN, Floats, Ints
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.requests import Requests, steps_of

ENOUGH = 20_000
"""Requests that means are taken from."""


@dataclass(frozen=True)
class Workload:
    """Requests as columns of one length, int64 tokens.

    Attributes:
        uncached_input_tokens: prompt tokens that are computed, 1 at least (an engine always computes the last one).
        cached_tokens: prompt tokens found in the prefix cache.
        output_tokens: given out, the first one by the prefill.
    """

    uncached_input_tokens: Ints
    cached_tokens: Ints
    output_tokens: Ints

    def __post_init__(self) -> None:
        count = self.uncached_input_tokens.shape
        if not count[0]:
            raise InvalidInput("workload", 0, "at least one request is expected")
        for name, least in (("uncached_input_tokens", 1), ("cached_tokens", 0), ("output_tokens", 0)):
            column = getattr(self, name)
            if column.dtype != np.int64 or column.shape != count:
                raise InvalidInput(name, f"{column.dtype} {column.shape}", f"int64 of shape {count} is expected")
            if bool((column < least).any()):
                raise InvalidInput(name, int(column.min()), f"a whole number from {least} is expected")

    def __len__(self) -> int:
        return len(self.output_tokens)

    @staticmethod
    def of(requests: Requests, rows: Ints) -> Workload:
        """The given rows of a log (those charged): their cached tokens must be known. A prompt found whole computes one token."""
        cached = requests.cached_tokens[rows]
        if bool((cached == UNKNOWN).any()):
            raise InvalidInput(
                "cached_tokens", UNKNOWN, "requests whose cache hits are unknown are no basis of a comparison"
            )
        new = np.maximum(requests.context_tokens[rows] - cached, 1)
        return Workload(new, requests.context_tokens[rows] - new, requests.output_tokens[rows])

    @property
    def context_tokens(self) -> Ints:
        """Prompts as the engine holds them at the first token."""
        return np.asarray(self.uncached_input_tokens + self.cached_tokens)

    @property
    def decode_steps(self) -> Ints:
        """Steps after the first token."""
        return steps_of(self.output_tokens, np.full(len(self), UNKNOWN))

    @property
    def tokens(self) -> int:
        """All of them, input and output."""
        return sum(int(getattr(self, one.name).sum()) for one in fields(self))

    @property
    def hit_share(self) -> Fraction:
        """Prompt tokens found in the cache, of all prompt tokens."""
        return Fraction(int(self.cached_tokens.sum()), int(self.context_tokens.sum()))

    @property
    def held_tokens(self) -> float:
        """Context of a sequence while it decodes, mean over its steps; of the prompts alone where nothing decodes."""
        return self._mean_context(1 / 2)

    @property
    def peak_tokens(self) -> float:
        """The same of what a sequence holds at its end."""
        return self._mean_context(1)

    def _mean_context(self, grown: float) -> float:
        steps = self.decode_steps.astype(np.float64)
        contexts = self.context_tokens + steps * grown
        return float(np.average(contexts, weights=steps) if steps.any() else contexts.mean())

    def with_context(self, factor: Fraction) -> Workload:
        """The same requests with prompts `factor` times as long, the found part as well; outputs stay."""
        if factor <= 0:
            raise InvalidInput("context_factor", str(factor), "a positive factor is expected")
        scaled = (np.rint(column * float(factor)) for column in (self.uncached_input_tokens, self.cached_tokens))
        new, cached = (column.astype(np.int64) for column in scaled)
        return replace(self, uncached_input_tokens=np.maximum(new, 1), cached_tokens=cached)

    def with_hit_share(self, share: Fraction) -> Workload:
        """The same requests with that share of every prompt found in the cache; the last token is always computed."""
        if not 0 <= share <= 1:
            raise InvalidInput("hit_share", str(share), "a share from 0 to 1 is expected")
        context = self.context_tokens
        cached = np.minimum(np.rint(context * float(share)).astype(np.int64), context - 1)
        return replace(self, uncached_input_tokens=context - cached, cached_tokens=cached)

    def thinned(self) -> Workload:
        """At most ENOUGH of the requests, evenly from all lengths: for means, which they keep within a percent; never for sums."""
        if len(self) <= ENOUGH:
            return self
        order = np.lexsort((self.output_tokens, self.context_tokens))
        rows = order[np.linspace(0, len(self) - 1, ENOUGH).round().astype(np.int64)]
        return Workload(self.uncached_input_tokens[rows], self.cached_tokens[rows], self.output_tokens[rows])

    def own_prefill_seconds(self, curve: Curve, room: float) -> Floats:
        """Own prefill work of each request in chunks of `room` tokens."""
        new, cached = (column.astype(np.float64) for column in (self.uncached_input_tokens, self.cached_tokens))
        return own_terms.prefill_seconds(curve, new, cached, np.maximum(np.ceil(new / room), 1.0))

    def own_decode_seconds(self, curve: Curve) -> Floats:
        """Own decode work of each request."""
        steps, one = self.decode_steps.astype(np.float64), np.ones(len(self))
        return own_terms.decode_seconds(curve, self.context_tokens.astype(np.float64), 0.0 * one, steps, one, one)
