"""What does one event cost, as booked? Read from its newest row and the price row that made its charge, never rated again."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, Row, text

from accounting.errors import NotFound
from accounting.ledger.held import Held, held
from accounting.ledger.newest import newest_row
from accounting.ledger.variance import variance
from accounting.money import MINOR_SCALE, PRICE_SCALE, format_minor, format_plain, format_scaled
from accounting.pricing.leaves import leaf_quantities
from accounting.pricing.tariff import format_sku
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext
from accounting.usage.classes import UNIT_CLASSES, USAGE_COLUMNS

_PRICES = text(
    """
    SELECT p.token_class, p.fallback, t.effective_from,
           (p.unit_price * CASE p.per WHEN 1000000 THEN 1000000000 ELSE 1000000000000 END)::bigint AS price
    FROM tariffs t JOIN tariff_prices p USING (sku_price_id) WHERE sku_price_id = :sku_price_id
    """
)
_UNIT_PRICE_SCALE = MINOR_SCALE - 3
"""Decimals of a price stated for a thousand units."""

Prices = dict[str, Any]
"""Rows of a price row by class."""


def charge_of(engine: Engine, context: TenantContext, event_id: str) -> dict[str, Any]:
    """The charge of an event's newest revision, corrections included, in the shape of `accounting.pricing.charge`; status `void`
    for a void one.

    Its amounts are the stored ones; its components come from the stored price rows, also where the price source has dropped
    them since. Raises NotFound.
    """
    with read_only(engine, context.tenant) as connection:
        row = newest_row(connection, context.tenant, event_id)
        if row is None:
            raise NotFound(f"event_id={event_id!r}: no such event")
        found = held(connection, context.tenant, row)
        return _priced(connection, context, row, found) if found.status == "priced" else _unpriced(row, found)


def _unpriced(row: Row[Any], found: Held) -> dict[str, Any]:
    costs = dict.fromkeys(("billing_currency", "list_cost", "contracted_cost", "effective_cost", "billed_cost"))
    charge = {"event_id": row.event_id, "status": found.status, **costs}
    charge |= {"components": [], "sku_price_id": None, "effective_from": None, "basis": None}
    # A pending event is not at fault: it says what it waits for by its status.
    return charge if found.status == "pending_settlement" else charge | {"reason": found.reason}


def _priced(connection: Connection, context: TenantContext, row: Row[Any], found: Held) -> dict[str, Any]:
    prices = prices_of(connection, found.sku_price_id)
    listed = prices if found.list_sku_price_id == found.sku_price_id else prices_of(connection, found.list_sku_price_id)
    start = next((price.effective_from for price in prices.values()), None)
    charge = {
        "event_id": row.event_id,
        "status": "priced",
        "billing_currency": found.billing_currency,
        **{name: None if cost is None else format_plain(cost) for name, cost in found.costs.items()},
        "components": components_of(row, prices, listed),
        "sku_price_id": None if found.sku_price_id is None else format_sku(found.sku_price_id),
        "effective_from": None if start is None else start.isoformat().replace("+00:00", "Z"),
        "basis": row.basis if found.basis == "reversal" else found.basis,
    }
    return charge | variance(connection, context, row, found)


def prices_of(connection: Connection, sku_price_id: int | None) -> Prices:
    """The stored prices of one row, by class; empty for none."""
    rows = [] if sku_price_id is None else connection.execute(_PRICES, {"sku_price_id": sku_price_id}).all()
    return {price.token_class: price for price in rows}


def components_of(row: Row[Any], prices: Prices, listed: Prices) -> list[dict[str, Any]]:
    """One dict for each class with a quantity; see `accounting.pricing.components`. A class that the list does not price apart has
    no list price here."""
    if not prices:
        return []
    counts = {name: getattr(row, name) for name in USAGE_COLUMNS}
    requests_priced = "requests" in prices and prices["requests"].price > 0
    found: list[dict[str, Any]] = []
    for token_class, quantity in leaf_quantities(counts, _apart(prices), requests_priced).items():
        if not quantity:
            continue
        price = prices[token_class]
        component = {
            "token_class": token_class,
            "quantity": quantity,
            "list_unit_price": stated(token_class, listed[token_class].price) if token_class in listed else None,
            "effective_unit_price": stated(token_class, price.price),
            "effective_cost": format_minor(quantity * price.price),
        }
        found.append(component if price.fallback is None else component | {"fallback": price.fallback})
    return found


def stated(token_class: str, price: int) -> str:
    """A price as it is stated: per million tokens, or per thousand units."""
    return format_scaled(price, _UNIT_PRICE_SCALE if token_class in UNIT_CLASSES else PRICE_SCALE)


def _apart(prices: Prices) -> bool:
    """Whether reasoning has a price of its own."""
    return "reasoning" in prices and prices["reasoning"].fallback is None
