"""Which periods are offered to a reader?"""

from __future__ import annotations

from datetime import date

from accounting.reports.periods import periods


def test_months_with_usage_come_first_from_the_newest_back() -> None:
    found = periods(date(2026, 8, 20), date(2026, 10, 31), date(2026, 11, 30))
    assert [(one["name"], one["label"], one["start"], one["end"]) for one in found] == [
        ("2026-10", "October 2026", "2026-10-01", "2026-11-01"),
        ("2026-09", "September 2026", "2026-09-01", "2026-10-01"),
        ("2026-08", "August 2026", "2026-08-01", "2026-09-01"),
        ("2026-Q4", "Quarter 2026-Q4", "2026-10-01", "2027-01-01"),
        ("2026-Q3", "Quarter 2026-Q3", "2026-07-01", "2026-10-01"),
        ("last-7-days", "Last 7 days", "2026-11-23", "2026-11-30"),
        ("last-30-days", "Last 30 days", "2026-10-31", "2026-11-30"),
        ("last-90-days", "Last 90 days", "2026-09-01", "2026-11-30"),
        ("year-to-date", "2026 to date", "2026-01-01", "2026-12-01"),
    ]


def test_without_usage_this_month_is_offered() -> None:
    assert periods(None, None, date(2026, 1, 31))[0]["name"] == "2026-01"


def test_usage_sent_ahead_opens_no_future_month() -> None:
    assert periods(date(2026, 10, 1), date(2026, 12, 1), date(2026, 11, 30))[0]["name"] == "2026-11"


def test_at_most_two_years_of_months_are_offered() -> None:
    found = [one["name"] for one in periods(date(2020, 1, 1), date(2026, 11, 30), date(2026, 11, 30))]
    assert (found[0], found[23], found[24]) == ("2026-11", "2024-12", "2026-Q4")
