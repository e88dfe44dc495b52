"""Are overage and prepaid packs earned with the use that earns them?"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.money import to_minor
from accounting.revenue.recognition import Line
from accounting.revenue.use import Allowance, drawn, overage

ZONE = ZoneInfo("UTC")
HUNDRED = Allowance("requests", 100, to_minor("0.02"), 1)
USED = {date(2026, 4, 3): 60, date(2026, 4, 10): 70, date(2026, 4, 20): 10, date(2026, 5, 2): 100}


def pack(name: str, booked: int, ends: int | None, units: int, recognition: str = "use") -> Line:
    end = None if ends is None else datetime(2026, 4, ends, tzinfo=UTC)
    start = datetime(2026, 4, booked, tzinfo=UTC)
    return Line(
        name, "credits", to_minor("10"), "USD", start, start if end else None, end, recognition, units, "requests"
    )


def test_only_what_lies_beyond_the_months_allowance_is_charged() -> None:
    """140 in April: 40 beyond at 0.02; 100 in May: none."""
    assert overage(HUNDRED, USED, date(2026, 4, 1), date(2026, 6, 1)) == to_minor("0.8")


def test_the_day_that_passes_the_allowance_earns_its_part() -> None:
    assert overage(HUNDRED, USED, date(2026, 4, 1), date(2026, 4, 10)) == 0
    assert overage(HUNDRED, USED, date(2026, 4, 10), date(2026, 4, 11)) == to_minor("0.6")
    assert overage(HUNDRED, USED, date(2026, 4, 11), date(2026, 5, 1)) == to_minor("0.2")


def test_use_before_the_plan_does_not_eat_its_allowance() -> None:
    assert overage(HUNDRED, USED, date(2026, 4, 5), date(2026, 5, 1), opened=date(2026, 4, 5)) == 0


def test_a_pack_is_earned_as_it_is_used_and_never_more_than_paid() -> None:
    """100 requests for 10: 60 by the 4th, all by the 11th."""
    packs = [pack("p", 1, None, 100)]
    assert drawn(packs, USED, date(2026, 4, 4), ZONE) == {"p": to_minor("6")}
    assert drawn(packs, USED, date(2026, 5, 1), ZONE) == {"p": to_minor("10")}


def test_the_pack_that_ends_first_is_used_first() -> None:
    packs = [pack("long", 1, None, 100), pack("short", 2, 30, 80)]
    assert drawn(packs, USED, date(2026, 4, 4), ZONE) == {"short": to_minor("7.5"), "long": 0}


def test_a_pack_takes_the_use_of_its_first_day_and_none_of_the_day_it_ends() -> None:
    """60 on the 3rd, 70 on the 10th, 10 on the 20th: from the 10th to the 20th it is 70 of 100 requests."""
    assert drawn([pack("p", 10, 20, 100)], USED, date(2026, 5, 1), ZONE) == {"p": to_minor("7")}


def test_what_is_unused_at_the_end_is_earned_only_where_the_policy_says_so() -> None:
    assert drawn([pack("p", 1, 5, 100)], USED, date(2026, 5, 1), ZONE) == {"p": to_minor("6")}
    assert drawn([pack("p", 1, 5, 100, "use_and_breakage")], USED, date(2026, 4, 4), ZONE) == {"p": to_minor("6")}
    assert drawn([pack("p", 1, 5, 100, "use_and_breakage")], USED, date(2026, 4, 5), ZONE) == {"p": to_minor("10")}


@settings(max_examples=50)
@given(days=st.dictionaries(st.integers(0, 90), st.integers(0, 400), max_size=12), cut=st.integers(0, 91))
def test_parts_of_a_range_add_up(days: dict[int, int], cut: int) -> None:
    first = date(2026, 4, 1)
    usage = {first + timedelta(days=day): units for day, units in days.items()}
    third = Allowance("requests", 100, to_minor("1"), 3)
    middle, end = first + timedelta(days=cut), first + timedelta(days=91)
    parts = overage(third, usage, first, middle) + overage(third, usage, middle, end)
    assert parts == overage(third, usage, first, end)
