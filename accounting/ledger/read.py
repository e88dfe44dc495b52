"""What does one event cost, as booked? Read from its newest row and the price row that made its charge, never rated again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Row, text

from accounting.errors import NotFound
from accounting.ledger.newest import newest_row
from accounting.ledger.variance import variance
from accounting.money import MINOR_SCALE, PRICE_SCALE, format_minor, format_scaled
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


def charge_of(engine: Engine, context: TenantContext, event_id: str) -> dict[str, Any]:
    """The charge of an event's newest revision, in the shape of `accounting.pricing.charge`; status `void` for a void one.

    Its amounts are the stored ones; its components come from the stored price row, also where the price source has dropped
    that row since. Raises NotFound.
    """
    with read_only(engine, context.tenant) as connection:
        row = newest_row(connection, context.tenant, event_id)
        if row is None:
            raise NotFound(f"event_id={event_id!r}: no such event")
        return _priced(connection, context, row) if row.charge_status == "priced" else _unpriced(row)


def _unpriced(row: Row[Any]) -> dict[str, Any]:
    costs = dict.fromkeys(("billing_currency", "list_cost", "contracted_cost", "effective_cost", "billed_cost"))
    charge = {"event_id": row.event_id, "status": row.charge_status, **costs}
    charge |= {"components": [], "sku_price_id": None, "effective_from": None, "basis": None}
    # A pending event is not at fault: it says what it waits for by its status.
    return charge if row.charge_status == "pending_settlement" else charge | {"reason": row.reason}


def _priced(connection: Connection, context: TenantContext, row: Row[Any]) -> dict[str, Any]:
    prices = connection.execute(_PRICES, {"sku_price_id": row.sku_price_id}).all()
    contracted = format_minor(row.contracted_cost_e15)
    start = prices[0].effective_from if prices else None
    charge = {
        "event_id": row.event_id,
        "status": "priced",
        "billing_currency": row.billing_currency,
        "list_cost": format_minor(row.list_cost_e15),
        "contracted_cost": contracted,
        "effective_cost": contracted,
        "billed_cost": contracted,
        "components": _components(row, prices),
        "sku_price_id": None if row.sku_price_id is None else format_sku(row.sku_price_id),
        "effective_from": None if start is None else start.isoformat().replace("+00:00", "Z"),
        "basis": row.basis,
    }
    return charge | variance(connection, context, row)


def _components(row: Row[Any], prices: Sequence[Row[Any]]) -> list[dict[str, Any]]:
    """One dict for each class with a quantity; see `accounting.pricing.components`."""
    if not prices:
        return []
    by_class = {price.token_class: price for price in prices}
    counts = {name: getattr(row, name) for name in USAGE_COLUMNS}
    reasoning_apart = "reasoning" in by_class
    requests_priced = "requests" in by_class and by_class["requests"].price > 0
    found: list[dict[str, Any]] = []
    for token_class, quantity in leaf_quantities(counts, reasoning_apart, requests_priced).items():
        if not quantity:
            continue
        price = by_class[token_class]
        stated = format_scaled(price.price, _UNIT_PRICE_SCALE if token_class in UNIT_CLASSES else PRICE_SCALE)
        component = {
            "token_class": token_class,
            "quantity": quantity,
            "list_unit_price": stated,
            "effective_unit_price": stated,
            "effective_cost": format_minor(quantity * price.price),
        }
        found.append(component if price.fallback is None else component | {"fallback": price.fallback})
    return found
