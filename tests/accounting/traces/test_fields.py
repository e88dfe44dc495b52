"""Are counts and times of traces read exactly?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from accounting.errors import InvalidInput
from accounting.traces.fields import EPOCH, after, clock_time, count, microseconds


def test_a_count_is_digits() -> None:
    assert [count("0", "n"), count("0042", "n")] == [0, 42]


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1e3", " 1", "NaN", "True", "٣", "1" * 11])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a count"):
        count(text, "n")


def test_seconds_become_whole_microseconds_without_a_float() -> None:
    texts = ["86399.956", "0", "1776752063.2133627", "7.0000019999999999"]
    assert [microseconds(text, "t") for text in texts] == [86_399_956_000, 0, 1_776_752_063_213_362, 7_000_001]


@pytest.mark.parametrize("text", ["", "-0.1", "nan", "inf", "1e9", "1.", ".5", "1" * 13])
def test_what_is_no_plain_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="plain decimal number of seconds"):
        microseconds(text, "t")


def test_a_time_without_a_zone_is_utc_and_its_seventh_digit_is_cut() -> None:
    assert clock_time("2023-11-16 18:17:03.9799609", "t") == datetime(2023, 11, 16, 18, 17, 3, 979960, UTC)


def test_a_time_with_a_zone_keeps_its_moment() -> None:
    zone = timezone(timedelta(hours=2))
    assert clock_time("2024-05-10 02:00:00.009930+02:00", "t") == datetime(2024, 5, 10, 2, 0, 0, 9930, zone)
    assert clock_time("2024-05-10 00:00:00+00:00", "t").tzinfo is UTC


@pytest.mark.parametrize(
    "text", ["", "2023-11-16", "16/11/2023 18:17:03", "2023-02-30 00:00:00", "0001-01-01 00:00:00+14:00"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="t="):
        clock_time(text, "t")


def test_a_moment_beyond_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidInput, match="beyond the calendar"):
        after(EPOCH, 10**18, "t")
