"""Which days does a running period compare with? Worked on a calendar."""

from __future__ import annotations

from datetime import date

import pytest

from accounting.reports.compared import compared


def day(text: str) -> date:
    return date.fromisoformat(f"2026-{text}")


@pytest.mark.parametrize(
    ("first", "until", "today", "to_date", "before"),
    [
        # The tenth of November: nine complete days, against the first nine of October.
        ("11-01", "12-01", "11-10", ("11-01", "11-10"), ("10-01", "10-10")),
        # The day after the month has ended: all of it, against all of the month before, one day longer.
        ("11-01", "12-01", "12-01", ("11-01", "12-01"), ("10-01", "11-01")),
        ("10-01", "11-01", "11-30", ("10-01", "11-01"), ("09-01", "10-01")),
        # 29 days of March against all of February's 28.
        ("03-01", "04-01", "03-30", ("03-01", "03-30"), ("02-01", "03-01")),
        # Half a month that is over stays half a month.
        ("11-01", "11-16", "11-30", ("11-01", "11-16"), ("10-01", "10-16")),
        # A quarter against the quarter before.
        ("07-01", "10-01", "11-30", ("07-01", "10-01"), ("04-01", "07-01")),
        ("07-01", "10-01", "08-02", ("07-01", "08-02"), ("04-01", "05-03")),
        # Seven days against the seven before.
        ("11-23", "11-30", "11-30", ("11-23", "11-30"), ("11-16", "11-23")),
        ("11-23", "11-30", "11-25", ("11-23", "11-25"), ("11-16", "11-18")),
    ],
)
def test_complete_days_are_compared_with_the_same_days_of_the_period_before(
    first: str, until: str, today: str, to_date: tuple[str, str], before: tuple[str, str]
) -> None:
    found = compared(day(first), day(until), day(today))
    assert found.to_date == (day(to_date[0]), day(to_date[1]))
    assert found.before == (day(before[0]), day(before[1]))


@pytest.mark.parametrize("today", ["11-01", "10-20"])
def test_a_period_without_a_complete_day_compares_with_nothing(today: str) -> None:
    found = compared(day("11-01"), day("12-01"), day(today))
    assert (found.to_date, found.before, found.elapsed, found.days) == (None, None, 0, 30)
