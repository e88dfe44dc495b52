"""Which loads are asked of a server, and what must be said of it that it does not say itself?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe.http.errors import HttpProbeFailed


@dataclass(frozen=True)
class Plan:
    """What is asked of the server.

    Attributes:
        concurrency, input_tokens: the grid; concurrency 1 is always a part of it, for a prompt's own time.
        output_tokens: of every request; the first comes of the prompt's step and is no decode step.
        each: requests a user after the one that warms up; rounds: how often the grid is gone through.
        rates: requests a second of open loops, each for `duration` seconds; vocabulary: token ids are below it.
    """

    concurrency: tuple[int, ...]
    input_tokens: tuple[int, ...]
    output_tokens: int
    each: int = 2
    rounds: int = 3
    rates: tuple[float, ...] = ()
    duration: float = 30.0
    seed: int = 0
    vocabulary: int = 1000

    def __post_init__(self) -> None:
        for name, values in (("concurrency", self.concurrency), ("input_tokens", self.input_tokens)):
            if not values or min(values) < 1:
                raise HttpProbeFailed(name, values, "numbers from 1 are expected")
        for rate in self.rates:
            if not 0 < rate < math.inf:
                raise HttpProbeFailed("rate", rate, "requests a second above 0 are expected, a finite number")
        if not 0 < self.duration < math.inf:
            raise HttpProbeFailed("duration", self.duration, "a finite number of seconds above 0 is expected")
        if self.output_tokens < 4:
            raise HttpProbeFailed("output_tokens", self.output_tokens, "at least 4: two decode steps and both ends")
        object.__setattr__(self, "concurrency", tuple(sorted({1, *self.concurrency})))

    def refuse_beyond(self, max_model_len: int | None) -> None:
        """Raises HttpProbeFailed for a prompt that the server would refuse; before anything is measured, where it says what it takes."""
        longest = max(self.input_tokens)
        if max_model_len is not None and longest + self.output_tokens > max_model_len:
            said = f"with {self.output_tokens} output tokens more than the {max_model_len} that the server takes"
            raise HttpProbeFailed("input_tokens", longest, said)

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(users, tokens) for tokens in self.input_tokens for users in self.concurrency]


@dataclass(frozen=True)
class Setup:
    """What a server can't say of itself. Attributes: model: its name in requests; None: as the server lists it.
    architecture: a public one's name or a config.json: without it experts, cache and ceilings are not known."""

    gpu: str
    gpus: int = 1
    dtype: str | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    server: str = "auto"
    model: str | None = None
    architecture: str | None = None
