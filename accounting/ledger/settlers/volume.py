"""What do marginal volume tiers make of a period's usage?

Tokens beyond a step cost that step's price, those below it keep their own, so the whole month is needed to know the cost of any
part of it. Which tokens lie beyond the step is nobody's in particular: every counted token of the period takes part in every step in
proportion. So the period's cost follows from its sums alone, whatever the order of arrival:

    cost = booked * (below the first step) / Q + sum over steps of (price * in the step, or booked * (1 - discount) * in the step / Q)

with Q the counted quantity and `booked` the contracted cost of it without tiers. It is rounded half to even once, to 10^-15, and its
difference to `booked` is shared by largest remainder over the cells, by their own contracted cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from accounting.errors import InvalidInput
from accounting.ledger.settlers.cells import Cell, units_of
from accounting.money import parse_unit_price, split
from accounting.pricing.contract import VolumeStep, VolumeTier


def apply_tier(tier: VolumeTier, cells: Sequence[Cell]) -> list[tuple[Cell, int]]:
    """(cell, difference in 10^-15 currency units) of one period's cells; adds the differences to the cells' costs.

    Raises InvalidInput where a `price` step counts classes priced per million together with ones priced per thousand.
    """
    classes = tier.counted_classes or tier.scope.token_classes
    counted = [cell for cell in cells if cell.row is not None and cell.covered(tier.scope)]
    quantities = [_quantity(cell, classes) for cell in counted]
    counted = [cell for cell, quantity in zip(counted, quantities, strict=True) if quantity]
    quantities = [quantity for quantity in quantities if quantity]
    booked = [_booked(cell, classes) for cell in counted]
    total = sum(quantities)
    difference = scheduled(tier.steps, total, sum(booked), _units(tier, counted, classes)) - sum(booked)
    if not difference:
        return []
    weights = booked if any(booked) else quantities
    parts = split(difference, weights, [cell.key for cell in counted])
    changed = [(cell, part) for cell, part in zip(counted, parts, strict=True) if part]
    for cell, part in changed:
        cell.change(part, classes)
    return changed


def scheduled(steps: Sequence[VolumeStep], quantity: int, booked: int, units: int) -> int:
    """Cost of a quantity by marginal steps, 10^-15 currency units; `booked` is its cost without them, prices are per `units`."""
    if not quantity:
        return 0
    borders = [step.from_quantity for step in steps]
    cost = Fraction(booked) * min(quantity, borders[0]) / quantity
    for step, start, end in zip(steps, borders, [*borders[1:], quantity], strict=True):
        inside = max(min(end, quantity) - start, 0)
        if step.kind == "price":
            cost += Fraction(parse_unit_price(step.value_text) * 1_000_000 // units) * inside
        else:
            cost += Fraction(booked) * inside / quantity * (1 - Fraction(step.value_text))
    return round(cost)


def _quantity(cell: Cell, classes: frozenset[str] | None) -> int:
    return sum(quantity for name, quantity in cell.quantities.items() if classes is None or name in classes)


def _booked(cell: Cell, classes: frozenset[str] | None) -> int:
    assert cell.row is not None
    return cell.booked_of(frozenset(cell.quantities) if classes is None else classes)


def _units(tier: VolumeTier, cells: Sequence[Cell], classes: frozenset[str] | None) -> int:
    """What the prices of the steps are for: a million tokens, or a thousand units."""
    names = classes if classes is not None else {name for cell in cells for name in cell.quantities}
    found = {units_of(name) for name in names} or {1_000_000}
    if len(found) > 1 and any(step.kind == "price" for step in tier.steps):
        reason = "a price per million tokens can't hold for units counted by the thousand; name the classes that count"
        raise InvalidInput(f"volume tier {tier.tier_id}.counted_classes", sorted(names), reason)
    return min(found)
