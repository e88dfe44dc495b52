"""Is an invoice line earned over its service period to the last digit, and a refund from its own moment? Figures by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.errors import InvalidInput
from accounting.money import to_minor
from accounting.revenue.recognition import Line, cents, earned_between, earned_by_part, earned_through

ZONE = ZoneInfo("UTC")
APRIL, MAY = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)


def line(amount: str, start: datetime | None, end: datetime | None, **changed: object) -> Line:
    given: dict[str, object] = {"kind": "subscription", "booked_at": start or APRIL, "recognition": "day"}
    return Line(
        "l1", amount=to_minor(amount), billing_currency="USD", starts_at=start, ends_at=end, **(given | changed)
    )  # type: ignore[arg-type]


def test_a_year_in_cents_gives_thirteen_months_that_add_up() -> None:
    """1,199.99 from 31 January 2026 to 31 January 2027: 365 days, the first month has one of them."""
    year = line("1199.99", datetime(2026, 1, 31, tzinfo=UTC), datetime(2027, 1, 31, tzinfo=UTC))
    firsts = [datetime(2026 + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=UTC) for month in range(1, 15)]
    months = [part // cents(2) for part in earned_by_part(year, firsts, ZONE, cents(2))]
    # 119,999 cents / 365 = 328.7643... a day: 1 day 329; through February 29 days 9,534.17 -> 9,534, so February 9,205.
    assert (months[0], months[1], len(months)) == (329, 9_205, 13)
    assert sum(months) == 119_999


def test_a_day_is_earned_when_it_has_ended() -> None:
    month = line("30", APRIL, MAY)
    assert earned_through(month, APRIL + timedelta(hours=23), ZONE) == 0
    assert earned_through(month, APRIL + timedelta(days=1), ZONE) == to_minor("1")


def test_seconds_are_counted_where_that_is_the_policy() -> None:
    month = line("30", APRIL, MAY, recognition="second")
    assert earned_through(month, APRIL + timedelta(hours=12), ZONE) == to_minor("0.5")


def test_both_policies_give_the_amount_over_the_term() -> None:
    start, end = datetime(2026, 4, 10, 15, 30, tzinfo=UTC), datetime(2026, 5, 10, 15, 30, tzinfo=UTC)
    cuts = [APRIL, MAY, datetime(2026, 6, 1, tzinfo=UTC)]
    # By day: 10 April to 9 May, 21 and 9 days of 30. By second: 20.354166... days of 30 in April, 0.46 days less.
    assert earned_by_part(line("30", start, end), cuts, ZONE) == [to_minor("21"), to_minor("9")]
    exact = earned_by_part(line("30", start, end, recognition="second"), cuts, ZONE)
    assert exact == [20_354166666666667, 9_645833333333333]


def test_days_are_those_of_the_reporting_zone() -> None:
    """Midnight in Kolkata is 18:30 UTC of the day before: the period is its whole April."""
    kolkata = ZoneInfo("Asia/Kolkata")
    start, end = datetime(2026, 3, 31, 18, 30, tzinfo=UTC), datetime(2026, 4, 30, 18, 30, tzinfo=UTC)
    assert earned_between(line("30", start, end), start, start + timedelta(days=10), kolkata) == to_minor("10")


def test_what_has_no_period_is_earned_when_it_is_booked() -> None:
    setup = line("99", None, None, booked_at=datetime(2026, 4, 12, 9, tzinfo=UTC), kind="one_off")
    assert earned_between(setup, APRIL, MAY, ZONE) == to_minor("99")
    assert earned_between(setup, MAY, MAY + timedelta(days=31), ZONE) == 0


def test_a_refund_takes_the_earned_part_back_at_once_and_the_rest_from_what_was_to_come() -> None:
    """12 of a line of 30, on the 21st: 20 of 30 days are over, so 8 at once, then 0.40 a day."""
    refund = line("-12", APRIL, MAY, kind="refund", booked_at=datetime(2026, 4, 21, tzinfo=UTC))
    assert earned_through(refund, datetime(2026, 4, 21, tzinfo=UTC), ZONE) == 0
    assert earned_through(refund, datetime(2026, 4, 22, tzinfo=UTC), ZONE) == to_minor("-8.4")
    assert earned_through(refund, MAY, ZONE) == to_minor("-12")


def test_a_full_refund_leaves_nothing_to_earn() -> None:
    sold, back = (
        line("30", APRIL, MAY),
        line("-30", APRIL, MAY, kind="refund", booked_at=datetime(2026, 4, 11, tzinfo=UTC)),
    )
    for day in (12, 20, 30):
        until = datetime(2026, 4, day, tzinfo=UTC)
        assert earned_through(sold, until, ZONE) + earned_through(back, until, ZONE) == 0


def test_a_line_earned_by_use_is_refused_here() -> None:
    with pytest.raises(InvalidInput, match="recognition='use'"):
        earned_through(line("10", None, None, recognition="use"), MAY, ZONE)


@settings(max_examples=60)
@given(
    amount=st.decimals("-100000", "100000", places=2, allow_nan=False),
    seconds=st.integers(1, 400 * 86_400),
    cuts=st.lists(st.integers(-10 * 86_400, 420 * 86_400), max_size=6),
    recognition=st.sampled_from(["day", "second"]),
    zone=st.sampled_from(["UTC", "Asia/Kathmandu", "America/New_York"]),
)
def test_however_a_period_is_cut_its_parts_add_up_to_the_amount(
    amount: Decimal, seconds: int, cuts: list[int], recognition: str, zone: str
) -> None:
    one = line(str(amount), APRIL, APRIL + timedelta(seconds=seconds), recognition=recognition)
    inner = [APRIL + timedelta(seconds=cut) for cut in sorted(cuts)]
    edges = [APRIL - timedelta(days=20), *inner, APRIL + timedelta(days=450)]
    assert sum(earned_by_part(one, edges, ZoneInfo(zone), cents(2))) == to_minor(amount)


@pytest.mark.parametrize("changed", [{}, {"starts_at": MAY, "ends_at": MAY, "recognition": "second"}])
def test_what_is_booked_at_a_moment_is_earned_after_it_and_not_by_it(changed: dict[str, object]) -> None:
    once = replace(line("7", None, None, booked_at=MAY), **changed)  # type: ignore[arg-type]
    after = MAY + timedelta(microseconds=1)
    assert [earned_through(once, moment, ZONE) for moment in (MAY, after)] == [0, to_minor("7")]
