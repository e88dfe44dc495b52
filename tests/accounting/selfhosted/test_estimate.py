"""What is a request likely to cost before its bill? By hand, in full batches of 64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accounting.selfhosted.arrays import UNKNOWN
from accounting.selfhosted.estimate import estimated_cost, estimated_seconds
from tests.accounting.selfhosted.by_hand import CURVE, POOL, alone


@pytest.mark.parametrize(
    ("role", "seconds"),
    [
        ("mixed", 0.021005 + 0.016505 + 101 * 0.005 / 64),
        ("prefill", 0.021005 + 0.005 / 64),
        ("decode", 0.016505 + 100 * 0.005 / 64),
    ],
)
def test_a_request_takes_its_own_work_and_its_part_of_full_steps(role: Any, seconds: float) -> None:
    """1,000 new tokens after 500: 0.02 + 0.001 + 5e-6; 100 steps on 1,500 and growing: 0.001 + 1e-7 * 155,050."""
    [found] = estimated_seconds(CURVE, replace(POOL, role=role), alone())
    assert found == pytest.approx(seconds, rel=1e-12)


def test_a_prompt_in_two_chunks_is_in_two_steps() -> None:
    """A second step, whose 500 tokens read the 500 cached and the first 500 computed ones again, at 1e-8."""
    small = replace(POOL, token_budget=800)
    [one], [two] = (estimated_seconds(CURVE, pool, alone()) for pool in (POOL, small))
    assert two - one == pytest.approx(0.005 / 64 + 1e-5, rel=1e-9)


def test_a_smaller_batch_of_the_pool_or_of_its_promise_shares_a_step_among_fewer() -> None:
    """At 1,500 tokens a step of R takes 0.005 + R * 0.00016: 10 within 6.6 ms."""
    own = 0.021005 + 0.016505
    [capped] = estimated_seconds(CURVE, replace(POOL, max_batch=4), alone())
    [promised] = estimated_seconds(CURVE, POOL, alone(), itl_seconds=0.0066001)
    assert capped == pytest.approx(own + 101 * 0.005 / 4, rel=1e-12)
    assert promised == pytest.approx(own + 101 * 0.005 / 10, rel=1e-12)


def test_what_is_unknown_has_no_estimate() -> None:
    unknown = replace(alone(), cached_tokens=np.array([UNKNOWN]))
    assert np.isnan(estimated_seconds(CURVE, POOL, unknown)).tolist() == [True]
    assert np.isnan(estimated_seconds(CURVE, POOL, alone(), itl_seconds=0.001)).tolist() == [True]


def test_an_estimate_is_its_part_of_the_bill_half_to_even() -> None:
    assert [estimated_cost(0.5, bill, 1_000_000) for bill in (5, 7, 8)] == [2, 4, 4]
