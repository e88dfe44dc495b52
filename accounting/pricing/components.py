"""Which components make up the cost of one priced event?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting.errors import NoPriceInForce
from accounting.money import MINOR_SCALE, PRICE_SCALE, format_minor, format_scaled
from accounting.pricing.leaves import leaf_quantities
from accounting.pricing.reasons import REASONS
from accounting.usage.classes import UNIT_CLASSES

if TYPE_CHECKING:
    from accounting.pricing.book import PriceBook
    from accounting.pricing.rate import Rated, RateInput
    from accounting.pricing.tariff import Tariff

_UNIT_PRICE_SCALE = MINOR_SCALE - 3
"""Prices of unit classes are shown for a thousand units."""


def components(
    book: PriceBook, inp: RateInput, rated: Rated, event: int, list_book: PriceBook | None = None
) -> list[dict[str, Any]]:
    """One dict for each class of which event number `event` has a quantity; their costs add up to the event's cost.

    Keys: token_class, quantity, list_unit_price and effective_unit_price (plain decimals, per million tokens or thousand units),
    effective_cost, and `fallback`, the class whose price was used, where the row has none for this one. `list_book`, where the
    event was rated in two layers, is asked for list_unit_price, which is None where the list has none. Raises NoPriceInForce for
    an event without a price.
    """
    row_number = int(rated.sku_index[event])
    if row_number < 0:
        raise NoPriceInForce(f"event {event} has no price: {REASONS[rated.reason[event]]}")
    row = book.rows[row_number]
    listed: Tariff | None = row
    if list_book is not None:
        listed = list_book.row_of(int(rated.list_sku_price_id[event])) if rated.list_known[event] else None
    counts = {name: int(column[event]) for name, column in inp.quantities.items()}
    found: list[dict[str, Any]] = []
    for token_class, quantity in leaf_quantities(
        counts, "reasoning" in row.prices, row.prices.get("requests", 0) > 0
    ).items():
        if not quantity:
            continue
        used = row.fallbacks.get(token_class, token_class)
        price = row.prices[used]
        component = {
            "token_class": token_class,
            "quantity": quantity,
            "list_unit_price": None if listed is None else unit_price_text(listed, token_class),
            "effective_unit_price": unit_price_text(row, token_class),
            "effective_cost": format_minor(quantity * price),
        }
        found.append(component | ({"fallback": used} if used != token_class else {}))
    return found


def unit_price_text(row: Tariff, token_class: str) -> str | None:
    """Price of a class by a row as plain decimal text, per million tokens or thousand units; None where it has none."""
    price = row.prices.get(row.fallbacks.get(token_class, token_class))
    scale = _UNIT_PRICE_SCALE if token_class in UNIT_CLASSES else PRICE_SCALE
    return None if price is None else format_scaled(price, scale)
