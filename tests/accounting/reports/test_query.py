"""Is a period read exactly, and everything that is none refused by field and value?"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.reports.query import ReportQuery


def test_a_day_is_its_first_instant_in_the_zone() -> None:
    query = ReportQuery.parse("2026-02-01", "2026-03-01", "Asia/Kathmandu")
    assert query.since == datetime(2026, 1, 31, 18, 15, tzinfo=UTC)
    assert query.until == datetime(2026, 2, 28, 18, 15, tzinfo=UTC)


def test_a_date_time_is_its_instant_whatever_the_zone() -> None:
    query = ReportQuery.parse("2026-02-01T00:00:00+05:30", "2026-02-01T12:15:00z", "UTC")
    assert query.since == datetime(2026, 1, 31, 18, 30, tzinfo=UTC)
    assert query.until == datetime(2026, 2, 1, 12, 15, tzinfo=UTC)


def test_a_day_whose_midnight_does_not_exist_begins_when_the_clock_jumps() -> None:
    # Cairo jumps from 00:00 to 01:00 on 24 April 2026, at 22:00 UTC the day before.
    query = ReportQuery.parse("2026-04-24", "2026-04-25", "Africa/Cairo")
    assert query.since == datetime(2026, 4, 23, 22, 0, tzinfo=UTC)
    assert query.until == datetime(2026, 4, 24, 21, 0, tzinfo=UTC)


def test_a_day_whose_midnight_is_twice_begins_with_the_first() -> None:
    # Havana falls back from 01:00 to 00:00 on 1 November 2026; midnight is at 04:00 and at 05:00 UTC.
    query = ReportQuery.parse("2026-11-01", "2026-11-02", "America/Havana")
    assert query.since == datetime(2026, 11, 1, 4, 0, tzinfo=UTC)
    assert query.until == datetime(2026, 11, 2, 5, 0, tzinfo=UTC)


def test_the_days_of_a_period_are_the_local_ones_it_touches() -> None:
    query = ReportQuery.parse("2026-02-01T20:00:00Z", "2026-02-02T20:00:00Z", "Asia/Kolkata")
    assert query.days() == [date(2026, 2, 2), date(2026, 2, 3)]


def test_group_by_is_names_with_commas_or_a_list() -> None:
    assert ReportQuery.parse("2026-02-01", "2026-03-01", "UTC", "seller, day").group_by == ("seller", "day")
    assert ReportQuery.parse("2026-02-01", "2026-03-01", "UTC", ["seller"]).group_by == ("seller",)
    assert ReportQuery.parse("2026-02-01", "2026-03-01", "UTC").group_by == ()


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        ({"start": "2026-02-30"}, "from", "2026-02-30"),
        ({"start": "2026-2-1"}, "from", "2026-2-1"),
        ({"start": "20260201"}, "from", "20260201"),
        ({"start": "2026-W05-1"}, "from", "2026-W05-1"),
        ({"start": "2026-02-01T00:00:00"}, "from", "2026-02-01T00:00:00"),
        ({"end": "soon"}, "to", "soon"),
        ({"end": "2026-02-01"}, "to", "2026-02-01"),
        ({"end": "2026-02-03T00:05:00Z"}, "to", "2026-02-03T00:05:00+00:00"),
        ({"start": "1900-01-01"}, "from", "1900-01-01"),
        ({"end": "9999-12-31"}, "to", "9999-12-31"),
        ({"tz": "Mars/Olympus"}, "tz", "Mars/Olympus"),
        ({"tz": ""}, "tz", ""),
        ({"tz": "../../etc/passwd"}, "tz", "../../etc/passwd"),
        ({"limit": 0}, "limit", 0),
    ],
)
def test_what_is_no_period_is_refused_by_name(arguments: dict[str, Any], field: str, value: object) -> None:
    given = {"start": "2026-02-01", "end": "2026-03-01", "tz": "UTC"} | arguments
    with pytest.raises(InvalidInput) as caught:
        ReportQuery.parse(**given)
    assert (caught.value.field, caught.value.value) == (field, value)


def test_a_day_off_the_quarter_hour_is_refused() -> None:
    # Until 1972 Liberia was 44 minutes and 30 seconds behind UTC.
    with pytest.raises(InvalidInput, match="15-minute boundary"):
        ReportQuery.parse("1971-06-01", "1971-06-02", "Africa/Monrovia")


def test_parameters_say_what_was_asked_and_which_instants_it_is() -> None:
    query = ReportQuery.parse("2026-02-01", "2026-03-01", "Asia/Kolkata", "seller", 5)
    assert query.parameters() == {
        "from": "2026-02-01",
        "to": "2026-03-01",
        "tz": "Asia/Kolkata",
        "group_by": ["seller"],
        "limit": 5,
        "currency": None,
        "since": "2026-01-31T18:30:00Z",
        "until": "2026-02-28T18:30:00Z",
    }
