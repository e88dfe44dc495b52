"""What does the same engine take in this process, in the same seconds in which a server is loaded?

A machine's pace may wander by half within seconds (neighbours on a hypervisor), so figures of two minutes compare two machines. Here
each load over HTTP is followed by visits of the same shapes in process, in which the server waits, and the two are compared round by round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from probe.curve.schema import Point, Sample
from probe.measure.rig import build_rig
from probe.measure.shapes import Shape, decode, prefill
from probe.measure.summary import points_of
from probe.measure.visit import Visiting, Visitor
from probe.server.options import ServeOptions

# A cell: kind of step, sequences that decode (1: a prompt alone), tokens of each prompt.
Cell = tuple[str, int, int]
Rounds = dict[Cell, dict[int, list[float]]]


class Beside:
    """Visits shapes between a server's loads. `samples` has what they took.

    Steps are those of a request: an output of 24 tokens decodes in 23. All count: what others take of the machine lies on both sides.
    """

    def __init__(self, options: ServeOptions, output_tokens: int) -> None:
        how = Visiting(steps=output_tokens - 1, quiet_share=1.0)
        self._visitor = Visitor(build_rig(options, threads=1).engine, seed=1, how=how)
        self._output = output_tokens
        self.samples: list[tuple[Shape, Sample]] = []

    def visit(self, round_: int, users: int, tokens: int) -> None:
        """The shapes of one load of the HTTP probe, whose `pause` this is."""
        for shape in [decode(users, tokens + self._output // 2)] + [prefill(tokens)] * (users == 1):
            self.samples += [(shape, one) for one in self._visitor.visit(shape, round_)]

    def points(self, outside: Rounds, prompts: Sequence[int]) -> list[Point]:
        """Of rounds that the other side has too: a load that was not usable takes its seconds with it on both sides."""
        return points_of([(shape, one) for shape, one in self.samples if one.round in outside[cell_of(one, prompts)]])


def cell_of(one: Sample, prompts: Sequence[int]) -> Cell:
    """A decode step is of the longest prompt below its mean context."""
    if one.kind != "decode":
        return str(one.kind), 1, one.prefills[0][0]
    mean = sum(one.contexts) / len(one.contexts)
    return "decode", len(one.contexts), max(tokens for tokens in prompts if tokens < mean)


def by_round(samples: Sequence[Sample], prompts: Sequence[int]) -> Rounds:
    """Seconds by cell and round. Contaminated samples count nowhere."""
    found: Rounds = defaultdict(lambda: defaultdict(list))
    for one in samples:
        if not one.contaminated:
            found[cell_of(one, prompts)][one.round].append(one.seconds)
    return found


def shares(outside: Rounds, inside: Rounds) -> dict[Cell, list[float]]:
    """By cell, each round's median over the in-process median of the same round, less 1; rounds that only one side has are left out."""
    return {
        cell: [
            float(np.median(rounds[number]) / np.median(inside[cell][number])) - 1
            for number in sorted(set(rounds) & set(inside[cell]))
        ]
        for cell, rounds in outside.items()
        if set(rounds) & set(inside.get(cell, {}))
    }
