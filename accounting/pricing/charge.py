"""How does one event's charge look as JSON?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from accounting.money import format_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.components import components
from accounting.pricing.rate import Rated, RateInput
from accounting.pricing.reasons import REASONS
from accounting.pricing.tariff import format_sku

BASIS = "price_list"


def charge(
    book: PriceBook, inp: RateInput, rated: Rated, event: int, event_id: str, deployment: str | None = None
) -> dict[str, Any]:
    """Charge of event number `event` of a rated batch.

    Amounts are plain decimal strings, null where there is no price: null is never 0. An event of a self-hosted `deployment`
    depends on the other events of its pool, so it waits for the settlement run and no list price is shown for it.
    """
    if deployment is not None:
        return _without_price(event_id, "pending_settlement")
    if rated.sku_index[event] < 0:
        return _without_price(event_id, "unpriced") | {"reason": REASONS[rated.reason[event]]}
    row = book.rows[int(rated.sku_index[event])]
    contracted = format_minor(int(rated.contracted_cost[event]))
    return {
        "event_id": event_id,
        "status": "priced",
        "billing_currency": row.currency,
        "list_cost": format_minor(int(rated.list_cost[event])),
        "contracted_cost": contracted,
        "effective_cost": contracted,
        "billed_cost": contracted,
        "components": components(book, inp, rated, event),
        "sku_price_id": format_sku(row.sku_price_id),
        "effective_from": _instant(row.effective_from),
        "basis": BASIS,
    }


def _without_price(event_id: str, status: str) -> dict[str, Any]:
    costs = dict.fromkeys(("billing_currency", "list_cost", "contracted_cost", "effective_cost", "billed_cost"))
    empty: dict[str, Any] = {"components": [], "sku_price_id": None, "effective_from": None, "basis": None}
    return {"event_id": event_id, "status": status, **costs, **empty}


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
