"""What is still open in a month that somebody wants to close, and how much money is it worth?

Nothing is guessed: a waiting event of a pool is worth its estimate (pending.py), one without a price what its provider reported for it,
and of the others it is said that their worth is not known.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, text

from accounting.ledger.pending import estimates
from accounting.money import format_plain
from accounting.storage.engine import scanning
from accounting.tenant import TenantContext

OPEN = ("pending_settlement", "unpriced", "exceptions")
"""What may be left open in a month that is closed, where whoever closes it says so."""

_STATUSES = text(
    "SELECT charge_status, sum(events)::bigint AS events FROM rollup_15m WHERE tenant = :tenant AND booking_period = :month "
    "GROUP BY 1 HAVING sum(events) <> 0 ORDER BY 1"
)
_EXCEPTIONS = text(
    "SELECT count(*) FROM exceptions WHERE tenant = :tenant AND resolved_at IS NULL "
    "AND coalesce(occurred_at, received_at) >= CAST(:month AS date)::timestamp AT TIME ZONE 'UTC' "
    "AND coalesce(occurred_at, received_at) < CAST(:until AS date)::timestamp AT TIME ZONE 'UTC'"
)
_POOLS = text(
    "SELECT deployment FROM ledger WHERE tenant = :tenant AND booking_period = :month "
    "AND charge_status = 'pending_settlement' AND deployment IS NOT NULL GROUP BY 1 HAVING sum(events) <> 0"
)
_REPORTED = text(
    """
    SELECT count(e.reported_cost_usd) AS known, sum(e.reported_cost_usd) AS usd, sum(open.tokens)::bigint AS tokens
    FROM (
      SELECT subject_id, subject_revision,
             sum(uncached_input_tokens + cache_read_tokens + cache_write_tokens + output_tokens) AS tokens
      FROM ledger WHERE tenant = :tenant AND booking_period = :month AND charge_status = 'unpriced' AND subject_kind = 'event'
      GROUP BY 1, 2 HAVING sum(events) > 0
    ) AS open
    JOIN usage_events e ON e.tenant = :tenant AND e.event_id = open.subject_id AND e.revision = open.subject_revision
      AND e.booking_period = :month
    """
)


def coverage(connection: Connection, context: TenantContext, month: date, until: date) -> dict[str, int]:
    """Events by charge status, and open exceptions of the month [month, until)."""
    place = {"tenant": context.tenant, "month": month, "until": until}
    found = {row.charge_status: row.events for row in connection.execute(_STATUSES, place)}
    return found | {"exceptions": connection.execute(_EXCEPTIONS, place).scalar_one()}


def describe(connection: Connection, context: TenantContext, month: date, name: str, events: int) -> str:
    """One open thing of OPEN with its number and its worth, for a person."""
    worth = {"pending_settlement": _pending, "unpriced": _unpriced}.get(name)
    said = "worth not known" if worth is None else worth(connection, context, month, events)
    return f"{name}: {events} events, {said}"


def _pending(connection: Connection, context: TenantContext, month: date, events: int) -> str:
    place = {"tenant": context.tenant, "month": month}
    waiting = list(connection.execute(_POOLS, place).scalars())
    sums: dict[str, Decimal] = {}
    without = events
    for one in estimates(connection, context, waiting, month).values():
        if one["cost"] is not None:
            sums[one["billing_currency"]] = sums.get(one["billing_currency"], Decimal(0)) + Decimal(one["cost"])
            without -= one["events"]
    return _worth(
        [f"{format_plain(amount)} {currency}" for currency, amount in sorted(sums.items())], "estimated", without
    )


def _unpriced(connection: Connection, context: TenantContext, month: date, events: int) -> str:
    with scanning(connection):
        row: Any = connection.execute(_REPORTED, {"tenant": context.tenant, "month": month}).one()
    known = [] if row.usd is None else [f"{format_plain(row.usd)} USD"]
    return f"{row.tokens or 0} tokens, {_worth(known, 'as reported by their providers', events - row.known)}"


def _worth(known: list[str], how: str, without: int) -> str:
    if not known:
        return "worth not known"
    rest = f", and {without} of them of a worth not known" if without else ""
    return f"worth {' and '.join(known)} {how}{rest}"
