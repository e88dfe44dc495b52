"""Do the steps of a bridge, and price, volume and mix, add up to the change exactly, whatever the two periods were?"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.reports.bridge import BARS, STEPS, Cell, PlanSide, Side, bridge
from accounting.reports.price_volume_mix import Effects, Sold, price_volume_mix

AMOUNTS = st.fractions(0, 10_000, max_denominator=1_000)
CELLS = st.dictionaries(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["input", "output"])),
    st.builds(Cell, st.integers(0, 10**9), AMOUNTS),
    max_size=5,
)
PLANS = st.dictionaries(
    st.sampled_from(["free", "pro", "team"]),
    st.builds(PlanSide, st.fractions(0, 100, max_denominator=31), AMOUNTS, CELLS),
)
SIDES = st.builds(Side, PLANS, st.dictionaries(st.sampled_from(BARS), st.tuples(AMOUNTS, AMOUNTS), max_size=3))


@settings(max_examples=150, deadline=None)
@given(before=SIDES, after=SIDES)
def test_the_steps_add_up_to_the_change_exactly(before: Side, after: Side) -> None:
    steps = bridge(before, after)
    assert [step.name for step in steps] == list(STEPS)
    assert sum(step.revenue for step in steps) == after.revenue() - before.revenue()
    assert sum(step.cost for step in steps) == after.cost() - before.cost()


@settings(max_examples=60, deadline=None)
@given(side=SIDES)
def test_a_period_against_itself_has_no_step(side: Side) -> None:
    assert all((step.revenue, step.cost) == (0, 0) for step in bridge(side, side))


def one(users: int, tokens: int, rate: int, revenue: int) -> Side:
    return Side(
        {"pro": PlanSide(Fraction(users), Fraction(revenue), {("a", "input"): Cell(tokens, Fraction(tokens * rate))})}
    )


def test_one_factor_changed_is_one_step() -> None:
    """10 users of 5 tokens at 2: 100. At 3 it is unit price; with 10 tokens each, intensity; with twice the users, users."""
    start = one(10, 50, 2, 500)
    found = {
        "unit_price": bridge(start, one(10, 50, 3, 500)),
        "intensity": bridge(start, one(10, 100, 2, 500)),
        "users": bridge(start, one(20, 100, 2, 1000)),
    }
    for name, steps in found.items():
        assert [step.name for step in steps if step.cost] == [name]
    assert [(step.name, step.margin) for step in found["users"] if step.margin] == [("users", 400)]


def test_what_is_new_has_no_former_price() -> None:
    before = one(10, 50, 2, 500)
    after = Side({"pro": PlanSide(Fraction(10), Fraction(500), {("b", "input"): Cell(1, Fraction(7))})})
    steps = {step.name: step.cost for step in bridge(before, after)}
    assert (steps["new_and_discontinued"], steps["model_and_token_mix"]) == (-93, 0)


@settings(max_examples=100)
@given(
    before=st.dictionaries(st.sampled_from("abcd"), st.builds(Sold, AMOUNTS, AMOUNTS)),
    after=st.dictionaries(st.sampled_from("abcd"), st.builds(Sold, AMOUNTS, AMOUNTS)),
)
def test_price_volume_and_mix_add_up_to_each_skus_change(before: dict[str, Sold], after: dict[str, Sold]) -> None:
    nothing = Sold(Fraction(0), Fraction(0))
    for sku, effects in price_volume_mix(before, after).items():
        assert effects.total == after.get(sku, nothing).revenue - before.get(sku, nothing).revenue


def test_price_volume_mix_by_hand() -> None:
    """a: 10 at 3, then 12 at 4. b: 10 at 1, then 18 at 1. Volume grows by half."""
    before = {"a": Sold(Fraction(10), Fraction(30)), "b": Sold(Fraction(10), Fraction(10))}
    after = {"a": Sold(Fraction(12), Fraction(48)), "b": Sold(Fraction(18), Fraction(18))}
    assert price_volume_mix(before, after) == {
        "a": Effects(Fraction(12), Fraction(15), Fraction(-9)),
        "b": Effects(Fraction(0), Fraction(5), Fraction(3)),
    }
