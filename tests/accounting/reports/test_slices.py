"""Is a period cut at local months, days and changes of policy, and nowhere else?"""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from accounting.errors import InvalidInput
from accounting.reports.query import ReportQuery
from accounting.reports.slices import labels, slices


def test_months_begin_at_local_midnight_and_the_first_part_where_the_period_does() -> None:
    query = ReportQuery.parse("2026-01-31T20:00:00Z", "2026-03-02", "Asia/Kolkata")
    parts = slices(query, "month")
    assert [(part.start, part.label) for part in parts] == [
        (datetime(2026, 1, 31, 20, 0, tzinfo=UTC), "2026-02"),
        (datetime(2026, 2, 28, 18, 30, tzinfo=UTC), "2026-03"),
    ]


def test_days_of_a_clock_change_are_23_and_25_hours() -> None:
    spring = slices(ReportQuery.parse("2026-03-29", "2026-03-31", "Europe/Berlin"), "day")
    assert (spring[1].start - spring[0].start).total_seconds() == 23 * 3600
    autumn = slices(ReportQuery.parse("2026-10-25", "2026-10-27", "Europe/Berlin"), "day")
    assert (autumn[1].start - autumn[0].start).total_seconds() == 25 * 3600


def test_a_change_of_policy_cuts_a_month_without_a_second_label() -> None:
    query = ReportQuery.parse("2026-02-01", "2026-04-01", "UTC")
    parts = slices(query, "month", [date(2000, 1, 1), date(2026, 2, 15), date(2026, 4, 1)])
    assert [part.day for part in parts] == [date(2026, 2, 1), date(2026, 2, 15), date(2026, 3, 1)]
    assert labels(parts) == ["2026-02", "2026-03"]


def test_a_policy_changes_with_the_tenants_day_in_a_report_of_another_zone() -> None:
    query = ReportQuery.parse("2026-02-10", "2026-02-20", "UTC")
    parts = slices(query, "month", [date(2026, 2, 15)], "Asia/Tokyo")
    assert [(part.start, part.day, part.policy_day) for part in parts] == [
        (datetime(2026, 2, 10, tzinfo=UTC), date(2026, 2, 10), date(2026, 2, 10)),
        (datetime(2026, 2, 14, 15, tzinfo=UTC), date(2026, 2, 14), date(2026, 2, 15)),
    ]


@pytest.mark.parametrize(
    ("zone", "tenants", "change", "start"),
    [
        ("UTC", "Asia/Tokyo", date(2026, 2, 20), datetime(2026, 2, 19, 15, tzinfo=UTC)),
        ("Pacific/Kiritimati", "Pacific/Pago_Pago", date(2026, 2, 9), datetime(2026, 2, 9, 11, tzinfo=UTC)),
    ],
)
def test_a_tenants_day_counts_though_the_period_has_no_local_day_of_its_date(
    zone: str, tenants: str, change: date, start: datetime
) -> None:
    parts = slices(ReportQuery.parse("2026-02-10", "2026-02-20", zone), "month", [change], tenants)
    assert [part.start for part in parts[1:]] == [start]


def test_a_zone_whose_days_begin_off_the_quarter_hour_is_refused() -> None:
    query = ReportQuery.parse("1971-06-01T00:00:00Z", "1971-06-03T00:00:00Z", "Africa/Monrovia")
    with pytest.raises(InvalidInput, match="tz='Africa/Monrovia'"):
        slices(query, "day")
