"""What is asked? Prompts of random tokens, no two alike from the first token on, so that no cache holds a part of one."""

from __future__ import annotations

import random
from dataclasses import dataclass

from probe.http.errors import HttpProbeFailed

# Common short words, one token each in most vocabularies: a text's length in tokens is the server's to say.
_WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand part "
    "place case week company system program question work government number night point home water room mother area money "
    "story fact month lot right study book eye job word business issue side kind head house service friend father power hour"
)


@dataclass(frozen=True)
class Prompt:
    """One prompt in both forms. Attributes: ids: as many as asked for; text: as many words."""

    ids: list[int]
    text: str


class Prompts:
    """Prompts by a seed.

    Attributes: vocabulary: ids are below it; low ids, which are often control tokens, are left out where there is room.
    """

    def __init__(self, seed: int, vocabulary: int) -> None:
        if vocabulary < 16:
            raise HttpProbeFailed("vocabulary", vocabulary, "at least 16 ids are needed")
        self._random = random.Random(seed)
        self._low, self._high = (min(100, vocabulary // 4), vocabulary)
        self._begun: set[tuple[int, ...]] = set()

    def next(self, tokens: int) -> Prompt:
        """A prompt whose first three tokens (all, where it has fewer) were not used before, as long as there are such."""
        for _ in range(20):
            ids = [self._random.randrange(self._low, self._high) for _ in range(tokens)]
            if tuple(ids[:3]) not in self._begun:
                break
        self._begun.add(tuple(ids[:3]))
        words = _WORDS.split()
        text = [str(self._random.randrange(10**6)), *(self._random.choice(words) for _ in range(tokens - 1))]
        return Prompt(ids, " ".join(text))
