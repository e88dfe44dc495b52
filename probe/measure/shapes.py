"""What is one step to be measured: which sequences decode at which contexts, which prompts are computed beside them?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from probe.curve.schema import Kind

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Shape:
    """One kind of step. Attributes:

    contexts: of each decoding sequence, tokens it attends to, the new one included, in the middle one of the measured steps.
    prefills: (new, cached) tokens of each prompt computed in the step.
    """

    kind: Kind
    contexts: tuple[int, ...] = ()
    prefills: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """Short and the same for equal shapes: `decode 4x512`, `decode 4~512 ragged`, `mixed 4x512+256|0`."""
        parts = [str(self.kind)]
        if self.contexts:
            batch, mean = len(self.contexts), sum(self.contexts) / len(self.contexts)
            parts.append(f"{batch}~{mean:g} ragged" if self.ragged else f"{batch}x{mean:g}")
        prompts = ",".join(f"{new}|{cached}" for new, cached in self.prefills)
        return " ".join(parts) + (f" +{prompts}" if self.contexts and prompts else f" {prompts}" if prompts else "")

    @property
    def ragged(self) -> bool:
        return len(set(self.contexts)) > 1

    @property
    def new_tokens(self) -> int:
        """Tokens computed in the step."""
        return len(self.contexts) + sum(new for new, _ in self.prefills)

    def blocks_held(self, steps: int, block_size: int) -> int:
        """Blocks of the cache that the sequences hold at most, each its own, when the last of `steps` measured steps is centred on these
        contexts."""
        lengths = [context + steps for context in self.contexts] + [new + cached + 1 for new, cached in self.prefills]
        return sum(-(-length // block_size) for length in lengths)


def decode(batch: int, context: int) -> Shape:
    """`batch` sequences of one context."""
    return Shape("decode", (context,) * batch)


def ragged(batch: int, context: int) -> Shape:
    """`batch` sequences of the same sum as `batch` times `context`, from a quarter to seven quarters of it, long and short in turn."""
    half = [round(context * 0.75 * (i + 1) / (batch // 2)) for i in range(batch // 2)]
    lengths = [length for step in half for length in (context + step, context - step)]
    return Shape("decode", tuple(lengths + [context] * (batch % 2)))


def prefill(new: int, cached: int = 0) -> Shape:
    """One prompt of `new` tokens behind `cached` ones."""
    return Shape("prefill", (), ((new, cached),))


def mixed(batch: int, context: int, new: int, cached: int = 0) -> Shape:
    """One prompt beside `batch` decoding sequences."""
    return Shape("mixed", (context,) * batch, ((new, cached),))


IDLE = Shape("idle")


def between(low: int, high: int) -> int | None:
    """A whole number in the geometric middle of two; None where none lies between."""
    middle = round(math.sqrt(low * high))
    return middle if low < middle < high else None


def unique(things: Iterable[T]) -> list[T]:
    """Without repeats, in order."""
    return list(dict.fromkeys(things))
