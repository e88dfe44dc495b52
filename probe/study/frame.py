"""Which of two arms costs less, by how much, and how sure is that? Interleaved rounds, paired ratios, Student's interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from probe.fit.student import quantile
from probe.study.errors import StudyRefused

Verdict = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class Arm:
    """One of the two things compared. Attributes: measure: its cost now; less is better, and it is above 0."""

    name: str
    measure: Callable[[], float]


@dataclass(frozen=True)
class Contrast:
    """A claim about two arms.

    Attributes:
        a, b: the claim is that `a` costs less than `b`; with `same`, that they cost the same.
        unit: of both arms' costs.
        same: None, or how far apart the arms may be: 0.1 is a tenth.
    """

    name: str
    unit: str
    a: Arm
    b: Arm
    same: float | None = None


@dataclass(frozen=True)
class Result:
    """One contrast as measured: a pair a round. Attributes: a, b: names; costs_a, costs_b: in `unit`, by round; same: as in `Contrast`."""

    name: str
    unit: str
    a: str
    b: str
    costs_a: list[float]
    costs_b: list[float]
    same: float | None = None

    def swapped(self) -> Result:
        """The same samples with the arms' places exchanged, so that the opposite is claimed."""
        return Result(self.name, self.unit, self.b, self.a, self.costs_b, self.costs_a, self.same)

    @property
    def judgement(self) -> Judgement:
        return judge(self.costs_a, self.costs_b, self.same)


@dataclass(frozen=True)
class Judgement:
    """Cost of a over cost of b: geometric mean of the rounds' ratios, 95 % interval, and whether the claim holds.

    `holds`: the whole interval lies on the claim's side; `fails`: the whole of it on the other; else `undecided`.
    """

    ratio: float
    low: float
    high: float
    verdict: Verdict


def judge(costs_a: Sequence[float], costs_b: Sequence[float], same: float | None = None) -> Judgement:
    """Paired: a round's two costs were measured one after the other, so a slow minute hits both. The interval is Student's of the mean log
    ratio: a bootstrap of so few rounds covers the truth in 50 % (two) to 88 % (seven) of cases, not in 95. Raises StudyRefused with fewer
    than two rounds, or a cost that is not above 0 and finite."""
    if len(costs_a) != len(costs_b) or len(costs_a) < 2:
        raise StudyRefused("rounds", (len(costs_a), len(costs_b)), "two or more pairs are needed")
    for cost in (*costs_a, *costs_b):
        if not 0 < cost < np.inf:
            raise StudyRefused("cost", cost, "finite costs above 0 are expected")
    logs = np.log(np.asarray(costs_a, np.float64) / np.asarray(costs_b, np.float64))
    mean, beside = float(logs.mean()), quantile(logs.size - 1) * float(logs.std(ddof=1)) / float(np.sqrt(logs.size))
    low, high = float(np.exp(mean - beside)), float(np.exp(mean + beside))
    return Judgement(float(np.exp(mean)), low, high, _verdict(low, high, same))


def _verdict(low: float, high: float, same: float | None) -> Verdict:
    if same is None:
        return "holds" if high < 1 else "fails" if low > 1 else "undecided"
    if 1 / (1 + same) <= low and high <= 1 + same:
        return "holds"
    return "fails" if low > 1 + same or high < 1 / (1 + same) else "undecided"


def measure(contrasts: Sequence[Contrast], rounds: int, say: Callable[[str], None] = lambda _: None) -> list[Result]:
    """Every contrast once a round; which arm comes first changes from round to round. One round before them warms up and is not kept."""
    costs: list[tuple[list[float], list[float]]] = [([], []) for _ in contrasts]
    for round_ in range(-1, rounds):
        for contrast, (costs_a, costs_b) in zip(contrasts, costs, strict=True):
            arms = [(contrast.a, costs_a), (contrast.b, costs_b)]
            for arm, into in arms if round_ % 2 == 0 else arms[::-1]:
                cost = arm.measure()
                if round_ >= 0:
                    into.append(cost)
        if round_ >= 0:
            say(f"round {round_ + 1}/{rounds}")
    return [
        Result(one.name, one.unit, one.a.name, one.b.name, costs_a, costs_b, one.same)
        for one, (costs_a, costs_b) in zip(contrasts, costs, strict=True)
    ]


def overall(results: Sequence[Result]) -> Verdict:
    """Holds where every claim does, fails where one fails."""
    verdicts = {result.judgement.verdict for result in results}
    return "fails" if "fails" in verdicts else "undecided" if "undecided" in verdicts else "holds"
