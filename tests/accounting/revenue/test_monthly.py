"""Is a monthly price earned evenly by day, to the last digit? Expected values are worked out by hand, in 10^-15 units."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import InvalidInput
from accounting.revenue.monthly import Subscription, earned
from accounting.revenue.price_terms import subscription_revenue

TWENTY = 20 * 10**15


def subscription(price: int, starts_on: date, ends_on: date | None) -> Subscription:
    return Subscription("s1", "pro", "u1", None, price, "USD", starts_on, ends_on)


def of_april(sold: Subscription) -> int:
    return subscription_revenue(sold, (), (), date(2026, 4, 1), date(2026, 5, 1)).gross


def test_a_start_in_mid_month_earns_its_days_only() -> None:
    # 20.00 from 10 February 2026: 19 of 28 days, 20 * 19 / 28 = 13.571428571428571|428...
    assert earned(TWENTY, date(2026, 2, 10), date(2026, 3, 1)) == 13_571428571428571


def test_an_end_in_mid_month_earns_its_days_only() -> None:
    # 1 to 9 February: 20 * 9 / 28 = 6.428571428571428|571..., rounded up; with the rest of the month it makes 20.
    assert earned(TWENTY, date(2026, 2, 1), date(2026, 2, 10)) == 6_428571428571429


def test_a_whole_month_earns_the_price_in_every_length_of_month() -> None:
    price = 19_990000000000001
    for start, end in [
        ((2026, 2, 1), (2026, 3, 1)),
        ((2028, 2, 1), (2028, 3, 1)),
        ((2026, 4, 1), (2026, 5, 1)),
        ((2026, 12, 1), (2027, 1, 1)),
    ]:
        assert earned(price, date(*start), date(*end)) == price


def test_days_add_up_to_the_month_and_twelve_months_to_twelve_prices() -> None:
    price = 9_999999999999999
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(365)]
    assert sum(earned(price, day, day + timedelta(days=1)) for day in days) == 119_999999999999988


def test_a_day_earns_the_difference_of_rounded_running_totals() -> None:
    # One unit a month of 31 days, in 10^-15 of it: 10^15 / 31 = 32258064516129.03...; day 1 rounds down, so does day 2 (..258.06).
    assert earned(10**15, date(2026, 1, 1), date(2026, 1, 2)) == 32258064516129
    assert earned(10**15, date(2026, 1, 2), date(2026, 1, 3)) == 32258064516129


def test_half_a_unit_rounds_to_even() -> None:
    # 1 unit over 30 days: through day 15 exactly half a unit, which rounds to 0; 3 units: 1.5 rounds to 2.
    assert earned(1, date(2026, 4, 1), date(2026, 4, 16)) == 0
    assert earned(3, date(2026, 4, 1), date(2026, 4, 16)) == 2


def test_no_days_earn_nothing() -> None:
    assert earned(TWENTY, date(2026, 2, 10), date(2026, 2, 10)) == 0


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"end='2026-02-09'.*2026-02-10"):
        earned(TWENTY, date(2026, 2, 10), date(2026, 2, 9))


def test_a_float_price_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"monthly_price=20\.0"):
        earned(20.0, date(2026, 2, 1), date(2026, 3, 1))  # type: ignore[arg-type]


@given(
    price=st.integers(0, 10**21),
    start=st.dates(date(2020, 1, 1), date(2030, 1, 1)),
    lengths=st.lists(st.integers(0, 200), min_size=1, max_size=6),
)
def test_parts_of_a_range_add_up_to_the_range(price: int, start: date, lengths: list[int]) -> None:
    parts, at = 0, start
    for length in lengths:
        parts += earned(price, at, at + timedelta(days=length))
        at += timedelta(days=length)
    assert parts == earned(price, start, at)


def test_a_subscription_counts_where_it_touches_the_range() -> None:
    # Half-open: ends on 11 April earns ten days of 30; a third of 20 is 6.666666666666666|666..., rounded up.
    assert of_april(subscription(TWENTY, date(2026, 1, 1), date(2026, 4, 11))) == 6_666666666666667


def test_a_free_plan_and_one_outside_the_range_earn_nothing() -> None:
    assert of_april(subscription(0, date(2026, 1, 1), None)) == 0
    assert of_april(subscription(TWENTY, date(2026, 1, 1), date(2026, 4, 1))) == 0
    assert of_april(subscription(TWENTY, date(2026, 5, 1), None)) == 0
