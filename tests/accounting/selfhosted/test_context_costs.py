"""What does a token cost against the length of its context, by hand?"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from accounting.selfhosted.context_costs import against_context
from accounting.selfhosted.steady import Targets
from tests.accounting.selfhosted.by_hand import CURVE, POOL

HOUR = Fraction(36)


def test_long_contexts_read_more_and_share_a_step_with_fewer() -> None:
    """32,000 tokens hold 32 at 1,000, 4 at 8,000. Seconds a token: 0.005/32 + 1e-5 + 1e-4, 0.005/4 + 1e-5 + 8e-4; 0.01 a second."""
    short, long = against_context(CURVE, replace(POOL, kv_capacity_tokens=32_000), [1_000, 8_000], HOUR)
    assert (short.batch, long.batch) == (32, 4)
    assert float(short.output or 0) == pytest.approx(2.6625, rel=1e-12)
    assert float(long.output or 0) == pytest.approx(20.6, rel=1e-12)
    assert float(long.step_part or 0) == pytest.approx(12.5, rel=1e-9)
    assert float(long.context_part or 0) == pytest.approx(8, rel=1e-12)


def test_targets_hold_the_batch_down() -> None:
    """A step of R at 1,000 takes 0.005 + R * 0.00011: 9 within 6 ms, 10 need 6.1."""
    [found] = against_context(CURVE, POOL, [1_000], HOUR, Targets(itl_seconds=0.006))
    assert found.batch == 9


def test_what_does_not_fit_or_was_not_measured_says_so() -> None:
    small = replace(POOL, kv_capacity_tokens=5_000)
    none, beyond = against_context(CURVE, small, [6_000], HOUR)[0], against_context(CURVE, POOL, [9_000], HOUR)[0]
    assert (none.batch, none.output, none.extrapolated) == (None, None, False)
    assert (beyond.batch, beyond.extrapolated) == (64, True)
    assert [one.extrapolated for one in against_context(CURVE, POOL, [1, 8_192, 8_193], HOUR)] == [False, False, True]


def test_a_batch_that_a_first_token_of_unmeasured_prompts_chose_says_so() -> None:
    """Prompts were measured to 4,000 tokens; without a target of the first token no batch rests on them."""
    measured = replace(CURVE, domain=replace(CURVE.domain, prefill_new=(1.0, 4_000.0), prefill_cached=(0.0, 0.0)))
    for targets, beyond in ((Targets(ttft_seconds=10.0), True), (Targets(), False)):
        found = against_context(measured, POOL, [4_000, 5_000], HOUR, targets)
        assert [one.extrapolated for one in found] == [False, beyond]
