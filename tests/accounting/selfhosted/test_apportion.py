"""Are amounts split over columns as `money.split` splits them, whatever their size?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.errors import MoneyError
from accounting.money import split
from accounting.selfhosted.apportion import apportion, split_signed

sized = st.integers(0, 62).flatmap(lambda bits: st.integers(0, 1 << bits))


@settings(max_examples=300, deadline=None)
@given(st.integers(-(10**24), 10**24), st.lists(sized, min_size=1, max_size=40).filter(any))
def test_columns_are_split_like_single_amounts(total: int, weights: list[int]) -> None:
    ids = [f"id{at * 7 % 41:02d}" for at in range(len(weights))]
    assert apportion(total, np.array(weights), np.array(ids)).tolist() == split(total, weights, ids)


def test_units_left_over_go_to_the_largest_remainders_then_to_the_smaller_ids() -> None:
    assert apportion(11, np.array([1, 1, 1, 1]), np.array(["d", "b", "a", "c"])).tolist() == [2, 3, 3, 3]
    assert apportion(10, np.array([1, 5, 1]), np.array(["z", "y", "x"])).tolist() == [1, 7, 2]


def test_a_part_beyond_64_bits_stays_exact() -> None:
    assert apportion(10**20, np.array([1, 2]), np.array(["a", "b"])).tolist() == [
        33333333333333333333,
        66666666666666666667,
    ]


def test_nothing_to_share_by_is_refused() -> None:
    with pytest.raises(MoneyError, match="nothing to share 5 by"):
        apportion(5, np.array([0, 0]), np.array(["a", "b"]))


def test_terms_of_a_bill_may_be_negative() -> None:
    """100 over 120 direct, -30 gap, 10 idle: 120, -30, 10; 101 over the same: 121.2, -30.3, 10.1 leaves one unit for -30.3's .7."""
    assert split_signed(100, [120, -30, 10], 100) == [120, -30, 10]
    assert split_signed(101, [120, -30, 10], 100) == [121, -30, 10]


def test_terms_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(MoneyError, match="terms that add up to 100"):
        split_signed(100, [50, 40], 100)
