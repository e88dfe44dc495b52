"""What does the ledger hold of one event, its corrections added?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, text

from accounting.money import from_minor

_LATER = text(
    "SELECT * FROM charges WHERE tenant = :tenant AND subject_kind = 'event' AND subject_id = :event_id "
    "AND subject_revision = :revision ORDER BY created_at, charge_id"
)
COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")


@dataclass(frozen=True)
class Held:
    """The newest revision of an event as the ledger holds it.

    Attributes:
        status: priced, unpriced, pending_settlement or void.
        sku_price_id: row of what is paid; list_sku_price_id: row of the list cost. None where there is none.
        costs: by FOCUS name, currency units; None where unknown.
        later: the event's rows of `charges`, in the order in which they were appended.
    """

    status: str
    seller: str
    billing_currency: str
    basis: str
    reason: str | None
    sku_price_id: int | None
    list_sku_price_id: int | None
    costs: dict[str, Decimal | None]
    later: Sequence[Row[Any]]


def held(connection: Connection, tenant: str, row: Row[Any]) -> Held:
    """Adds up a row of usage_events and the lines after it."""
    parameters = {"tenant": tenant, "event_id": row.event_id, "revision": row.revision}
    later = connection.execute(_LATER, parameters).all()
    newest: Any = next((line for line in reversed(later) if line.basis != "reversal"), row)
    first = {"list_cost": row.list_cost_e15, **dict.fromkeys(COSTS[1:], row.contracted_cost_e15)}
    costs: dict[str, Decimal | None] = {}
    for name in COSTS:
        known = [] if first[name] is None else [from_minor(first[name])]
        known += [getattr(line, name) for line in later if getattr(line, name) is not None]
        costs[name] = sum(known, Decimal(0)) if known and newest.charge_status == "priced" else None
    unlisted = newest.list_cost is None if newest is not row else row.list_cost_e15 is None
    if unlisted:
        costs["list_cost"] = None
    paid_by = newest.sku_price_id
    listed_by = newest.list_sku_price_id if newest.list_sku_price_id is not None else paid_by
    return Held(
        status=newest.charge_status,
        seller=newest.seller,
        billing_currency=newest.billing_currency,
        basis=newest.basis,
        reason=newest.reason,
        sku_price_id=paid_by,
        list_sku_price_id=None if unlisted else listed_by,
        costs=costs,
        later=later,
    )
