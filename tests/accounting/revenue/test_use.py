"""Is use beyond an allowance charged once, on the day that goes beyond it?"""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.money import to_minor
from accounting.revenue.use import Allowance, Metered, Usage, overages

MAY = date(2026, 5, 1)
HUNDRED = Allowance("requests", 100, to_minor("0.02"), 1)
USED = {date(2026, 4, 3): 60, date(2026, 4, 10): 70, date(2026, 4, 20): 10, date(2026, 5, 2): 100}


def metered(
    name: str = "s", plan: str = "pro", opened: int = 1, ended: int | None = None, quantity: int = 1
) -> Metered:
    """A subscription from a day of January to one of April."""
    until = None if ended is None else date(2026, 4, ended)
    return Metered(name, plan, date(2026, 1, opened), until, [(date(2026, 1, 1), HUNDRED)], quantity)


def overage(allowance: Allowance, usage: Usage, start: date, end: date, opened: date = date(2026, 1, 1)) -> int:
    """Of one subscription alone."""
    one = Metered("s", "pro", opened, None, [(date(2026, 1, 1), allowance)])
    return overages([one], {"requests": usage}, start, end).get("s", 0)


def test_only_what_lies_beyond_the_months_allowance_is_charged() -> None:
    """140 in April: 40 beyond at 0.02; 100 in May: none."""
    assert overage(HUNDRED, USED, date(2026, 4, 1), date(2026, 6, 1)) == to_minor("0.8")


def test_the_day_that_passes_the_allowance_earns_its_part() -> None:
    assert overage(HUNDRED, USED, date(2026, 4, 1), date(2026, 4, 10)) == 0
    assert overage(HUNDRED, USED, date(2026, 4, 10), date(2026, 4, 11)) == to_minor("0.6")
    assert overage(HUNDRED, USED, date(2026, 4, 11), date(2026, 5, 1)) == to_minor("0.2")


def test_use_before_the_plan_does_not_eat_its_allowance() -> None:
    assert overage(HUNDRED, USED, date(2026, 4, 5), date(2026, 5, 1), opened=date(2026, 4, 5)) == 0


def test_two_subscriptions_of_one_user_on_one_plan_are_charged_the_same_use_once() -> None:
    """140 in April, 200 included together: nothing is beyond. Of 100 each, 40 beyond were charged twice."""
    found = overages([metered("a"), metered("b", opened=2)], {"requests": USED}, date(2026, 4, 1), MAY)
    assert sum(found.values()) == 0


def test_what_lies_beyond_all_allowances_is_charged_by_the_subscription_that_began_first() -> None:
    used = {date(2026, 4, 3): 150, date(2026, 4, 10): 70}
    found = overages([metered("b", opened=2), metered("a")], {"requests": used}, date(2026, 4, 1), MAY)
    assert {name: amount for name, amount in found.items() if amount} == {"a": to_minor("0.4")}


def test_use_counts_for_the_metered_plan_that_was_begun_last() -> None:
    """The plan `max` was begun on the second: `pro` has no use, and max 40 beyond."""
    found = overages([metered("a"), metered("b", "max", opened=2)], {"requests": USED}, date(2026, 4, 1), MAY)
    assert {name: amount for name, amount in found.items() if amount} == {"b": to_minor("0.8")}


def test_one_that_ended_has_taken_its_part_of_the_months_use() -> None:
    """110 on the 3rd: 100 are `a`'s, which ends before the 10th, 10 `b`'s; of 100 on the 10th `b` includes 90, asked on any day."""
    sold = [metered("a", ended=10), metered("b", opened=2)]
    used = {date(2026, 4, 3): 110, date(2026, 4, 10): 100}
    whole = overages(sold, {"requests": used}, date(2026, 4, 1), MAY)
    late = overages(sold, {"requests": used}, date(2026, 4, 10), MAY)
    assert (whole.get("b"), late.get("b")) == (to_minor("0.2"), to_minor("0.2"))


def test_the_allowance_is_that_of_the_subscriptions_first_day_in_the_month() -> None:
    """From 5 April on 100 are included and 1,000 before: who subscribes on the 5th has 100, who did so in January 1,000 in April."""
    dated = [(date(2026, 1, 1), Allowance("requests", 1_000, to_minor("0.02"), 1)), (date(2026, 4, 5), HUNDRED)]
    used = {"requests": {date(2026, 4, 10): 140}}
    for opened, charged in ((date(2026, 4, 5), to_minor("0.8")), (date(2026, 1, 1), 0)):
        found = overages([Metered("s", "pro", opened, None, dated)], used, date(2026, 4, 1), MAY)
        assert found.get("s", 0) == charged


def test_a_plan_that_stops_metering_charges_nothing_from_then_on() -> None:
    """From May on nothing is metered; the day is that of the price that holds on the first of the month."""
    dated = [(date(2026, 1, 1), HUNDRED), (MAY, None)]
    one = Metered("s", "pro", date(2026, 1, 1), None, dated)
    used = USED | {date(2026, 5, 2): 1_000}
    assert overages([one], {"requests": used}, date(2026, 4, 1), date(2026, 6, 1)) == {"s": to_minor("0.8")}


@settings(max_examples=50)
@given(days=st.dictionaries(st.integers(0, 90), st.integers(0, 400), max_size=12), cut=st.integers(0, 91))
def test_parts_of_a_range_add_up(days: dict[int, int], cut: int) -> None:
    first = date(2026, 4, 1)
    usage = {first + timedelta(days=day): units for day, units in days.items()}
    third = Allowance("requests", 100, to_minor("1"), 3)
    middle, end = first + timedelta(days=cut), first + timedelta(days=91)
    parts = overage(third, usage, first, middle) + overage(third, usage, middle, end)
    assert parts == overage(third, usage, first, end)
