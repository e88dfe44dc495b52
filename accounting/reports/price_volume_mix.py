"""How much of a change of revenue is price, how much volume, how much mix? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

ZERO = Fraction(0)


@dataclass(frozen=True)
class Sold:
    """One SKU in one period. Attributes: volume: units sold; revenue: currency units."""

    volume: Fraction
    revenue: Fraction


@dataclass(frozen=True)
class Effects:
    """The parts of one SKU's change, currency units. `new`: the whole change of a SKU that was sold in one of the periods only."""

    price: Fraction = ZERO
    volume: Fraction = ZERO
    mix: Fraction = ZERO
    new: Fraction = ZERO

    @property
    def total(self) -> Fraction:
        return self.price + self.volume + self.mix + self.new


def price_volume_mix(before: Mapping[str, Sold], after: Mapping[str, Sold]) -> dict[str, Effects]:
    """SKU -> effects, which add up to each SKU's change of revenue exactly.

    price = (P1 - P0) V1; volume = V0 (sumV1 / sumV0 - 1) P0, which adds up to (sumV1 - sumV0) x average P0;
    mix = (V1 - V0 sumV1 / sumV0) P0.
    """
    known = [sku for sku in before if before[sku].volume and sku in after and after[sku].volume]
    old, new = (sum((side[sku].volume for sku in known), ZERO) for side in (before, after))
    found: dict[str, Effects] = {}
    for sku in sorted({*before, *after}):
        left, right = before.get(sku, Sold(ZERO, ZERO)), after.get(sku, Sold(ZERO, ZERO))
        if sku not in known:
            found[sku] = Effects(new=right.revenue - left.revenue)
            continue
        price = left.revenue / left.volume
        grown = left.volume * new / old
        found[sku] = Effects(
            right.revenue - price * right.volume, (grown - left.volume) * price, (right.volume - grown) * price
        )
    return found
