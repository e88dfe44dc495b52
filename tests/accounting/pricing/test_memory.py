"""Is what is taken and copied block by block whole?"""

from __future__ import annotations

import numpy as np

from accounting.pricing.memory import copied, empty, taken_by


def test_codes_of_several_blocks_are_looked_up_to_the_last_one() -> None:
    codes = (np.arange(40_000) % 3).astype(np.int32)
    found = taken_by(codes, np.array([7, 8, 9], np.int16))
    assert found.dtype == np.int16
    assert found.size == 40_000
    assert found[[0, 1, 2, 16_383, 16_384, 16_385, 32_767, 32_768, 39_999]].tolist() == [7, 8, 9, 7, 8, 9, 8, 9, 7]


def test_a_copy_keeps_its_values_when_the_column_changes() -> None:
    column = np.array([1, 2, 3])
    copy = copied(column)
    column[0] = 9
    assert copy.tolist() == [1, 2, 3]


def test_no_rows_need_no_memory() -> None:
    assert empty(0, np.int64).tolist() == []
    assert taken_by(np.empty(0, np.int32), np.array([5])).tolist() == []


def test_two_arrays_in_use_share_no_memory() -> None:
    first, second = empty(1_000, np.int64), empty(1_000, np.int64)
    first[:], second[:] = 1, 2
    assert (first == 1).all()
