"""Which hours of a window are left where another takes some? Every minute of the day is in the pieces or was taken, never both."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.pricing.hours import Window, hours_left

ALL: Window = (None, None)


def t(hour: int, minute: int = 0) -> time:
    return time(hour, minute)


@pytest.mark.parametrize(
    ("window", "taken", "left"),
    [
        (ALL, ALL, []),
        (ALL, (t(8), t(20)), [(t(20), t(8))]),
        (ALL, (t(20), t(8)), [(t(8), t(20))]),
        (ALL, (t(0), t(6)), [(t(6), t(0))]),
        ((t(8), t(20)), ALL, []),
        ((t(8), t(20)), (t(20), t(8)), [(t(8), t(20))]),
        ((t(8), t(20)), (t(10), t(12)), [(t(8), t(10)), (t(12), t(20))]),
        ((t(8), t(20)), (t(18), t(9)), [(t(9), t(18))]),
        ((t(16, 30), t(0, 30)), (t(23), t(1)), [(t(16, 30), t(23))]),
        ((t(16, 30), t(0, 30)), (t(0), t(0, 15)), [(t(16, 30), t(0)), (t(0, 15), t(0, 30))]),
        ((t(16, 30), t(0, 30)), (t(18), t(19)), [(t(19), t(0, 30)), (t(16, 30), t(18))]),
    ],
)
def test_what_is_left_by_hand(window: Window, taken: Window, left: list[Window]) -> None:
    assert sorted(hours_left(window, taken), key=str) == sorted(left, key=str)


def minutes(window: Window) -> set[int]:
    start, end = window
    if start is None or end is None:
        return set(range(1440))
    begins, ends = start.hour * 60 + start.minute, end.hour * 60 + end.minute
    return set(range(begins, ends)) if begins < ends else {*range(ends), *range(begins, 1440)}


_TIME = st.builds(time, st.integers(0, 23), st.integers(0, 59))
_WINDOW = st.one_of(st.just(ALL), st.tuples(_TIME, _TIME))


@given(window=_WINDOW, taken=_WINDOW)
def test_each_minute_is_left_or_taken(window: Window, taken: Window) -> None:
    pieces = [minutes(one) for one in hours_left(window, taken)]
    assert set().union(*pieces) == minutes(window) - minutes(taken)
    assert sum(map(len, pieces)) == len(minutes(window) - minutes(taken))
