"""Does a verdict follow its interval, flip with its arms, and need enough rounds?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from probe.fit.student import quantile
from probe.study.errors import StudyRefused
from probe.study.frame import Arm, Contrast, Result, judge, measure, overall


def test_the_ratio_is_the_geometric_mean_of_the_rounds_ratios() -> None:
    """1/2 and 1/8: the root of 1/16."""
    assert judge([1, 1], [2, 8]).ratio == pytest.approx(0.25)


def test_the_interval_is_student_s_of_the_log_ratios() -> None:
    """Ratios e^0.1, e^0.2, e^0.3: mean 0.2, deviation 0.1; 4.3027 * 0.1 / sqrt(3) = 0.248417 beside it."""
    found = judge([math.exp(0.1), math.exp(0.2), math.exp(0.3)], [1.0] * 3)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((-0.048417, 0.448417), abs=1e-6)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (6, 2.4469), (10, 2.2281), (11, 2.2010), (20, 2.0860), (100, 1.9840)]
)
def test_the_quantile_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert quantile(freedom) == pytest.approx(t, abs=2e-4)


def test_alike_arms_are_told_apart_in_one_of_twenty_studies() -> None:
    """2,000 studies of each length, arms alike, rounds log-normal: 5 % are decided by chance, give or take 1.5 (three deviations)."""
    draw = np.random.default_rng(7)
    for rounds in (2, 3, 7):
        noise = np.exp(draw.normal(0.0, 0.2, (2_000, rounds)))
        decided = sum(judge(one.tolist(), [1.0] * rounds).verdict != "undecided" for one in noise)
        assert decided / 2_000 == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize(("costs_a", "verdict"), [
    ([0.5, 0.6, 0.7, 0.6], "holds"),
    ([1.5, 1.6, 1.7, 1.6], "fails"),
    ([0.9, 1.1, 0.9, 1.1], "undecided"),
    ([1.0, 1.0, 1.0, 1.0], "undecided"),
])  # fmt: skip
def test_a_claim_holds_where_its_whole_interval_does(costs_a: list[float], verdict: str) -> None:
    assert judge(costs_a, [1.0] * 4).verdict == verdict


@pytest.mark.parametrize(("cost", "verdict"), [
    (1.0, "holds"), (1.09, "holds"), (0.92, "holds"), (1.11, "fails"), (0.90, "fails"),
])  # fmt: skip
def test_the_same_within_a_tenth_is_from_ten_elevenths_to_eleven_tenths(cost: float, verdict: str) -> None:
    assert judge([cost] * 3, [1.0] * 3, same=0.1).verdict == verdict


def test_swapped_arms_turn_a_claim_that_holds_into_one_that_fails() -> None:
    result = Result("x", "seconds", "a", "b", [1, 1.1, 0.9], [2, 2.1, 1.9])
    assert (result.judgement.verdict, result.swapped().judgement.verdict) == ("holds", "fails")
    assert result.swapped().judgement.ratio == pytest.approx(1 / result.judgement.ratio)


def test_a_study_fails_by_one_claim_and_is_undecided_by_one() -> None:
    holds = Result("x", "s", "a", "b", [1, 1], [2, 2])
    open_ = Result("x", "s", "a", "b", [1, 3], [2, 2])
    assert overall([holds, holds]) == "holds"
    assert overall([holds, open_]) == "undecided"
    assert overall([holds, open_, holds.swapped()]) == "fails"


def test_rounds_are_interleaved_change_who_is_first_and_are_warmed_up() -> None:
    seen: list[str] = []

    def arm(name: str) -> Arm:
        return Arm(name, lambda: float(len(seen) if not seen.append(name) else 0))  # type: ignore[func-returns-value]

    [result] = measure([Contrast("x", "calls", arm("a"), arm("b"))], 2)
    assert seen == ["b", "a", "a", "b", "b", "a"]
    assert (result.costs_a, result.costs_b) == ([3.0, 6.0], [4.0, 5.0])


@pytest.mark.parametrize(("costs", "why"), [(([1.0], [1.0]), "rounds="), (([1.0, 1.0], [1.0]), "rounds="),
                                            (([1.0, 0.0], [1.0, 1.0]), "cost=0.0"),
                                            (([1.0, math.inf], [1.0, 1.0]), "cost=inf"),
                                            (([1.0, 1.0], [math.nan, 1.0]), "cost=nan")])  # fmt: skip
def test_too_few_rounds_and_costs_of_nothing_are_refused(costs: tuple[list[float], list[float]], why: str) -> None:
    with pytest.raises(StudyRefused, match=why):
        judge(*costs)
