"""Which requests arrive when? A list, drawn once and kept, that the engine and the simulator are both given."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from probe.measure.errors import MeasureRefused


class Arrival(NamedTuple):
    """`at`: in units of the mean gap, so that one list serves every rate. Tokens of the prompt and of the answer."""

    at: float
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Lengths:
    """Prompts and answers drawn evenly between two bounds each."""

    input_tokens: tuple[int, int] = (32, 128)
    output_tokens: tuple[int, int] = (32, 96)


def draw_arrivals(count: int, lengths: Lengths, seed: int) -> list[Arrival]:
    """Poisson: gaps are exponential with mean 1; the first request comes at 0."""
    draw, at, found = random.Random(seed), 0.0, []
    for _ in range(count):
        found.append(Arrival(at, draw.randint(*lengths.input_tokens), draw.randint(*lengths.output_tokens)))
        at += draw.expovariate(1.0)
    return found


def read_arrivals(path: Path) -> list[Arrival]:
    """From a JSON list of [seconds, input tokens, output tokens]; times are scaled to a mean gap of 1. Raises MeasureRefused by row."""
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=list[tuple[float, int, int]])
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise MeasureRefused("replay_list", str(path), str(error)) from None
    for number, (at, new, out) in enumerate(rows):
        if new < 1 or out < 1 or (number and at < rows[number - 1][0]):
            raise MeasureRefused(f"replay_list[{number}]", (at, new, out), "times in order and at least one token each")
    if len(rows) < 2 or rows[-1][0] <= rows[0][0]:
        raise MeasureRefused("replay_list", len(rows), "at least two arrivals at different times are needed")
    gap = (rows[-1][0] - rows[0][0]) / (len(rows) - 1)
    return [Arrival((at - rows[0][0]) / gap, new, out) for at, new, out in rows]


def at_rate(arrivals: Sequence[Arrival], rate: float) -> list[Arrival]:
    """The same list at `rate` requests a second: `at` in seconds."""
    return [one._replace(at=one.at / rate) for one in arrivals]
