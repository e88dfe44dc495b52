"""Who pays for a shared prefix, by hand, and does anything get lost?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import InvalidInput
from accounting.selfhosted.prefix import Uses, amortised
from tests.accounting.selfhosted.by_hand import CURVE

BLOCK = 2_005_000_000
"""Picoseconds of 100 tokens at the start of a prompt: 2e-5 * 100 + 1e-9 * 100 * 50."""


def uses(*rows: tuple[int, int, int, bool], start: int = 0, tokens: int = 100) -> Uses:
    """(hour, request, block, computed) in order of time."""
    hour, request, block, computed = zip(*rows, strict=True)
    ints = (np.array(one, np.int64) for one in (hour, request, block))
    places = (np.full(len(rows), value, np.int64) for value in (start, tokens))
    return Uses(*ints, *places, np.array(computed))


def test_three_users_of_a_block_pay_a_third_each_and_the_smallest_the_rest() -> None:
    """2,005,000,000 in three: 668,333,333 and one over, for request 0; request 1 computed it."""
    found = amortised(CURVE, uses((0, 1, 7, True), (0, 0, 7, False), (0, 2, 7, False)), 3)
    assert found.tolist() == [668_333_334, 668_333_333 - BLOCK, 668_333_333]


def test_later_blocks_cost_the_attention_to_what_precedes_them() -> None:
    """100 tokens upon 1,000: 2e-5 * 100 + 1e-9 * 100 * 1,050 = 0.002105; halves."""
    found = amortised(CURVE, uses((0, 0, 7, True), (0, 1, 7, False), start=1_000), 2)
    assert found.tolist() == [-1_052_500_000, 1_052_500_000]


def test_a_block_computed_again_begins_anew() -> None:
    rows = [(0, 0, 7, True), (0, 1, 7, False), (0, 2, 7, True), (0, 3, 7, False)]
    found = amortised(CURVE, uses(*rows), 4)
    assert found.tolist() == [-BLOCK // 2, BLOCK // 2, -BLOCK // 2, BLOCK // 2]


def test_what_a_later_hour_finds_was_paid_for() -> None:
    found = amortised(CURVE, uses((0, 0, 7, True), (1, 1, 7, False), (1, 2, 7, False)), 3)
    assert found.tolist() == [0, 0, 0]


def test_a_column_of_another_length_is_refused() -> None:
    good = uses((0, 0, 7, True), (0, 1, 7, False))
    with pytest.raises(InvalidInput, match=r"uses\.computed"):
        Uses(good.hour, good.request, good.block, good.start, good.tokens, np.array([True]))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 4), st.booleans()), max_size=60),
    st.integers(0, 5_000),
)
def test_seconds_only_move_and_stay_in_their_hour(rows: list[tuple[int, int, int, bool]], start: int) -> None:
    """A request is in one hour, so requests of an hour are those of its rows."""
    placed = [(number % 3, number, block, computed) for _, number, block, computed in rows]
    if not placed:
        return
    found = amortised(CURVE, uses(*placed, start=start), 10)
    for hour in range(3):
        assert found[hour::3].sum() == 0
