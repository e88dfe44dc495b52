"""Marginal schedules by hand, and what the day that exceeds an amount shares."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from accounting.errors import InvalidInput
from accounting.ledger.settlers.cells import Cell, Group, PriceRow
from accounting.ledger.settlers.drawing import draw
from accounting.ledger.settlers.periods import period_of
from accounting.ledger.settlers.volume import apply_tier, scheduled
from accounting.pricing.contract import Contract, Scope, VolumeStep, VolumeTier

DAY = datetime(2026, 7, 1, tzinfo=UTC)
STEPS = (VolumeStep(10, "price", "1"), VolumeStep(20, "discount", "0.5"))
ROW = PriceRow(1, "m", "default", {"uncached_input": 6, "web_search": 4}, frozenset({"uncached_input"}))


def _cell(name: str, tokens: int, day: int = 1, **more: int) -> Cell:
    quantities = {"uncached_input": tokens, **more}
    cost = sum(ROW.prices[token_class] * quantity for token_class, quantity in quantities.items())
    return Cell(
        name, DAY.replace(day=day), Group(DAY.replace(day=day), name, "", "production", "m"), ROW, quantities, cost
    )


@pytest.mark.parametrize(
    ("quantity", "cost"),
    [
        (0, 0),
        (10, 60),  # all below the first step: 10 at 6
        (15, 60 + 5 * 1_000_000_000),  # a price of 1 a million is 10^9 units a token
        (30, 60 + 10 * 1_000_000_000 + 30),  # the third ten at half of 6
    ],
)
def test_each_part_of_a_quantity_has_its_steps_price(quantity: int, cost: int) -> None:
    assert scheduled(STEPS, quantity, quantity * 6, 1_000_000) == cost


def test_a_price_per_thousand_units_is_that_of_one_unit() -> None:
    assert scheduled((VolumeStep(0, "price", "10"),), 3, 0, 1_000) == 3 * 10**13  # a cent each, in 10^-15 dollars


def test_a_cost_between_two_units_is_rounded_to_the_even_one() -> None:
    """Half of 1, 3 and 5: 0, 2 and 2."""
    half = (VolumeStep(0, "discount", "0.5"),)
    assert [scheduled(half, 1, booked, 1_000_000) for booked in (1, 3, 5)] == [0, 2, 2]


def test_the_difference_is_shared_by_largest_remainder_ties_by_key() -> None:
    """18 at 6 is 108; half of the last 3 parts of 18 off: 9 less, by 6, 5 and 7 tokens."""
    tier = VolumeTier("t", Scope(), None, (VolumeStep(15, "discount", "0.5"),))
    cells = [_cell("a", 6), _cell("b", 5), _cell("c", 7)]
    changed = apply_tier(tier, cells)
    assert [(cell.key, part) for cell, part in changed] == [("a", -3), ("b", -3), ("c", -3)]  # 3, 2.5, 3.5
    assert [cell.billed for cell in cells] == [33, 27, 39]


def test_a_price_for_tokens_and_searches_at_once_is_refused() -> None:
    tier = VolumeTier("t", Scope(), None, (VolumeStep(0, "price", "1"),))
    with pytest.raises(InvalidInput, match=r"volume tier t\.counted_classes=\['uncached_input', 'web_search'\]"):
        apply_tier(tier, [_cell("a", 6, web_search=2)])


def test_the_day_that_exceeds_an_amount_shares_what_is_left() -> None:
    """10 on the first day, 5 left for three who want 4 each on the second: 1.67 each, so 2, 2 and 1."""
    cells = [_cell("a", 1), _cell("x", 1, 2), _cell("y", 1, 2), _cell("z", 1, 2), _cell("a", 1, 3)]
    assert draw(15, cells, [10, 4, 4, 4, 9]) == [10, 2, 2, 1, 0]


def test_a_contract_month_begins_on_the_contracts_day() -> None:
    contract = Contract("k", "t", "acme", "USD", datetime(2026, 1, 31, tzinfo=UTC))
    tier = VolumeTier("t", Scope(), None, STEPS, "contract_month")
    days = {
        "2026-01-31": "2026-01-31",
        "2026-02-27": "2026-01-31",
        "2026-02-28": "2026-02-28",
        "2026-03-30": "2026-02-28",
        "2026-03-31": "2026-03-31",
    }
    assert {day: period_of(contract, tier, datetime.fromisoformat(f"{day}T12:00:00Z")) for day in days} == days


def test_below_the_first_step_the_contracted_price_holds() -> None:
    tier = VolumeTier("t", Scope(), None, (VolumeStep(15, "discount", "0.5"),))
    assert scheduled(tier.steps, 14, 84, 1_000_000) == 84
    assert apply_tier(tier, [_cell("a", 14)]) == []
