"""What does the ledger hold of one event, its corrections added?

An event of a pool has a part for each hour and each pool that it ran in. It waits until its own pool's hour is settled, whatever others
were settled before; then one part that is unpriced leaves the whole of it unpriced, as an unknown part is not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, text

from accounting.ledger.settlers.pool_booked import BASIS
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
    newest = _telling(row, later)
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


def _telling(row: Row[Any], later: Sequence[Row[Any]]) -> Row[Any]:
    """The line that says what an event's cost is: the newest, or of a pool's event the one that its status hangs on."""
    parts: dict[tuple[str, datetime], Row[Any]] = {}
    for line in later:
        if line.basis == BASIS:
            hour = line.charge_period_start.replace(minute=0, second=0, microsecond=0)
            # Taken out first, so that parts stand in the order of their newest lines.
            parts.pop((line.deployment, hour), None)
            parts[line.deployment, hour] = line
    if not parts:
        return next((line for line in reversed(later) if line.basis != "reversal"), row)
    if not any(line.supersedes == f"{row.event_id}:{row.revision}" for line in later):
        return row
    newest = list(parts.values())
    return next((line for line in newest if line.charge_status != "priced"), newest[-1])
