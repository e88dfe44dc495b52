"""Are prepaid packs earned with the use that draws on them, and what of one that is given back or sold at a discount? April 2026."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.money import to_minor
from accounting.revenue.packs import drawn
from accounting.revenue.recognition import Line

ZONE = ZoneInfo("UTC")
USED = {date(2026, 4, 3): 60, date(2026, 4, 10): 70, date(2026, 4, 20): 10, date(2026, 5, 2): 100}
MAY, JUNE = date(2026, 5, 1), date(2026, 6, 1)


def at(day: int) -> datetime:
    return datetime(2026, 4, day, tzinfo=UTC)


def pack(name: str, booked: int, ends: int | None, units: int, recognition: str = "use") -> Line:
    end = None if ends is None else at(ends)
    start = at(booked)
    return Line(
        name, "credits", to_minor("10"), "USD", start, start if end else None, end, recognition, units, "requests"
    )


def off(name: str, kind: str, amount: str, day: int, of: str = "p") -> Line:
    return Line(name, kind, to_minor(amount), "USD", at(day), recognition="use", refers_to=of)


def test_a_pack_is_earned_as_it_is_used_and_never_more_than_paid() -> None:
    """100 requests for 10: 60 by the 4th, all by the 11th."""
    packs = [pack("p", 1, None, 100)]
    assert drawn(packs, USED, date(2026, 4, 4), ZONE) == {"p": to_minor("6")}
    assert drawn(packs, USED, MAY, ZONE) == {"p": to_minor("10")}


def test_the_pack_that_ends_first_is_used_first() -> None:
    packs = [pack("long", 1, None, 100), pack("short", 2, 30, 80)]
    assert drawn(packs, USED, date(2026, 4, 4), ZONE) == {"short": to_minor("7.5"), "long": 0}


def test_a_pack_takes_the_use_of_its_first_day_and_none_of_the_day_it_ends() -> None:
    """60 on the 3rd, 70 on the 10th, 10 on the 20th: from the 10th to the 20th it is 70 of 100 requests."""
    assert drawn([pack("p", 10, 20, 100)], USED, MAY, ZONE) == {"p": to_minor("7")}


def test_what_is_unused_at_the_end_is_earned_only_where_the_policy_says_so() -> None:
    assert drawn([pack("p", 1, 5, 100)], USED, MAY, ZONE) == {"p": to_minor("6")}
    assert drawn([pack("p", 1, 5, 100, "use_and_breakage")], USED, date(2026, 4, 4), ZONE) == {"p": to_minor("6")}
    assert drawn([pack("p", 1, 5, 100, "use_and_breakage")], USED, date(2026, 4, 5), ZONE) == {"p": to_minor("10")}


def test_unused_units_are_given_back_first_and_take_nothing_back_of_what_was_earned() -> None:
    """200 requests for 10, 60 used: 3 earned, 7 to be earned. 4 come back as 80 requests; of the 60 left the 10th takes all."""
    packs, back = [pack("p", 1, None, 200)], [off("r", "refund", "-4", 5)]
    assert drawn(packs, USED, date(2026, 4, 6), ZONE, back) == {"p": to_minor("3"), "r": 0}
    assert drawn(packs, USED, JUNE, ZONE, back) == {"p": to_minor("6"), "r": 0}


def test_what_a_refund_gives_back_beyond_the_unused_is_less_revenue_at_once() -> None:
    """100 for 10, 60 used by the 5th: all 10 come back, 4 of them were never earned; nothing is left to use."""
    packs, back = [pack("p", 1, None, 100)], [off("r", "refund", "-10", 5)]
    assert drawn(packs, USED, date(2026, 4, 5), ZONE, back) == {"p": to_minor("6")}
    assert drawn(packs, USED, JUNE, ZONE, back) == {"p": to_minor("6"), "r": to_minor("-6")}


def test_a_refund_counts_after_the_use_of_its_own_day() -> None:
    """60 on the 3rd are earned though the refund is of that day."""
    found = drawn([pack("p", 1, None, 100)], USED, MAY, ZONE, [off("r", "refund", "-4", 3)])
    assert found == {"p": to_minor("6"), "r": 0}


def test_units_that_were_given_back_are_not_used_and_the_next_pack_takes_the_use() -> None:
    packs, back = [pack("p", 1, 30, 100), pack("q", 2, None, 100)], [off("r", "refund", "-4", 5)]
    assert drawn(packs, USED, date(2026, 4, 11), ZONE, back) == {"p": to_minor("6"), "r": 0, "q": to_minor("7")}


def test_two_refunds_of_one_day_take_what_is_left_one_after_the_other() -> None:
    back = [off("r1", "refund", "-3", 5), off("r2", "refund", "-3", 5)]
    found = drawn([pack("p", 1, None, 100)], USED, MAY, ZONE, back)
    assert found == {"p": to_minor("6"), "r1": 0, "r2": to_minor("-2")}


def test_a_discount_on_a_pack_is_earned_as_the_pack_is_and_its_refund_is_at_the_price_paid() -> None:
    """100 for 10 less 2: 60 used earn 6 less 1.2. 3.2 for the 40 unused come back; the rest is earned already."""
    packs, changes = [pack("p", 1, None, 100)], [off("d", "discount", "-2", 1), off("r", "refund", "-3.2", 5)]
    earned = {"p": to_minor("6"), "d": to_minor("-1.2")}
    assert drawn(packs, USED, date(2026, 4, 5), ZONE, changes) == earned
    assert drawn(packs, USED, JUNE, ZONE, changes) == earned | {"r": 0}


def test_at_the_end_what_was_not_given_back_is_earned() -> None:
    """10 less 2 off less 1 back: 7 in all, the discount whole."""
    packs = [pack("p", 1, 6, 100, "use_and_breakage")]
    changes = [off("d", "discount", "-2", 1), off("r", "refund", "-1", 5)]
    assert drawn(packs, USED, MAY, ZONE, changes) == {"p": to_minor("9"), "d": to_minor("-2"), "r": 0}


def test_what_is_given_back_after_a_pack_has_ended_is_less_revenue() -> None:
    """All 10 are earned with the 5th; 3 of them come back on the 8th."""
    packs, back = [pack("p", 1, 6, 100, "use_and_breakage")], [off("r", "refund", "-3", 8)]
    assert drawn(packs, USED, date(2026, 4, 8), ZONE, back) == {"p": to_minor("10")}
    assert drawn(packs, USED, MAY, ZONE, back) == {"p": to_minor("10"), "r": to_minor("-3")}


@settings(max_examples=100)
@given(
    days=st.dictionaries(st.integers(1, 28), st.integers(0, 90), max_size=6),
    back=st.lists(st.tuples(st.integers(1, 28), st.integers(1, 500)), max_size=3),
    ends=st.booleans(),
)
def test_earned_is_never_below_what_was_not_given_back_nor_above_what_was_paid(
    days: dict[int, int], back: list[tuple[int, int]], ends: bool
) -> None:
    """Refunds of at most 15 in all of a pack of 10: what is still to be earned is never negative while not more than 10 came back."""
    usage = {date(2026, 4, day): units for day, units in days.items()}
    line = pack("p", 1, 29 if ends else None, 100, "use_and_breakage" if ends else "use")
    changes = [off(f"r{number}", "refund", f"-{cents / 100:.2f}", day) for number, (day, cents) in enumerate(back)]
    given_back = -sum(one.amount for one in changes)
    found = drawn([line], usage, MAY, ZONE, changes)
    to_earn = line.amount - given_back - sum(found.values())
    if ends:
        assert to_earn == 0
    elif given_back <= line.amount:
        assert 0 <= to_earn <= line.amount
