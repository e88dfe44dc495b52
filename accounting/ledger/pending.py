"""What are events likely to cost that wait for their pool's hour? Estimates, in no total.

An estimate is a request's own work and its steps shared by R* requests, at what a replica-second of the pool's newest bill costs: a
full batch without gap and idle. A request whose cached tokens are unknown, or whose pool has no bill yet, has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, text

from accounting.ledger.corrected import NEWEST_REVISION
from accounting.ledger.settlers.pool_cells import HOUR, capacity_us
from accounting.ledger.settlers.pool_log import INPUT
from accounting.ledger.settlers.pool_shares import Bill
from accounting.money import format_minor, to_line
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.estimate import estimated_cost, estimated_seconds
from accounting.selfhosted.pool_settings import PoolSettings, in_force
from accounting.selfhosted.requests import Requests
from accounting.storage.curves import recorded_curve
from accounting.storage.pools import members, statements
from accounting.tenant import TenantContext

_BILLS = text(
    "SELECT DISTINCT ON (hour) hour, amount, billing_currency FROM pool_bills WHERE tenant = :tenant AND pool_id = :pool "
    "ORDER BY hour DESC, recorded_at DESC, record_id DESC LIMIT 1"
)
_COLUMNS = (
    f"e.event_id, coalesce(e.context_tokens, {INPUT}) AS context, e.cache_read_tokens AS cached, "
    "e.cache_read_known AND e.usage_known AS known, e.output_tokens AS output, e.accepted_steps"
)
_ONE = text(
    f"SELECT {_COLUMNS} FROM usage_events e WHERE e.tenant = :tenant AND e.occurred_at = :at AND e.event_id = :event_id "
    "AND e.revision = :revision"
)
_WAITING = text(
    f"""
    SELECT {_COLUMNS}, e.occurred_at FROM usage_events e
    WHERE e.tenant = :tenant AND e.deployment = :pool AND e.charge_status = 'pending_settlement' AND {NEWEST_REVISION}
      AND (CAST(:month AS date) IS NULL OR e.booking_period = :month)
      AND (CAST(:since AS timestamptz) IS NULL OR e.occurred_at >= :since AND e.occurred_at < :until)
      AND NOT EXISTS (SELECT FROM charges c WHERE c.tenant = :tenant AND c.charge_id = e.event_id || ':' || e.revision || '/reversal')
    ORDER BY e.event_id
    """
)


def estimate_of(connection: Connection, context: TenantContext, row: Row[Any]) -> dict[str, Any] | None:
    """The estimate of one waiting event as JSON; None where there is none. `row`: of usage_events."""
    settings = in_force(statements(connection).get(row.deployment, []), row.occurred_at)
    if settings is None:
        return None
    asked = {"tenant": context.tenant, "at": row.occurred_at, "event_id": row.event_id, "revision": row.revision}
    costs, currency = _costs(connection, context, settings, connection.execute(_ONE, asked).all())
    if not costs or costs[0] is None:
        return None
    return {"cost": format_minor(costs[0]), "billing_currency": currency, "curve_id": settings.curve_id}


def estimates(
    connection: Connection,
    context: TenantContext,
    pools: Sequence[str],
    month: date | None = None,
    period: tuple[datetime, datetime] | None = None,
) -> dict[str, dict[str, Any]]:
    """Pool -> the estimate of its waiting events, or of those booked in a month (its first day) or that came in in a period: `cost`,
    `billing_currency`, `events` that have one, and `without`, those that have none."""
    stated = statements(connection)
    asked = {"tenant": context.tenant, "month": month} | dict(
        zip(("since", "until"), period or (None, None), strict=True)
    )
    found: dict[str, dict[str, Any]] = {}
    for pool in pools:
        settings = in_force(stated.get(pool, []), datetime.now(UTC))
        if settings is None:
            continue
        rows = connection.execute(_WAITING, {**asked, "pool": pool}).all()
        costs, currency = _costs(connection, context, settings, rows)
        known = [cost for cost in costs if cost is not None]
        cost = format_minor(sum(known)) if known else None
        counts = {"events": len(known), "without": len(rows) - len(known)}
        found[pool] = {"cost": cost, "billing_currency": currency, **counts}
    return found


def _costs(
    connection: Connection, context: TenantContext, settings: PoolSettings, rows: Sequence[Any]
) -> tuple[list[int | None], str]:
    """Whole 10^-15 of each row's estimate, None where there is none."""
    costs: list[int | None] = [None] * len(rows)
    bill = connection.execute(_BILLS, {"tenant": context.tenant, "pool": settings.pool_id}).one_or_none()
    if bill is None or not rows:
        return costs, settings.billing_currency
    serving = [one for one in members(connection, bill.hour, bill.hour + HOUR) if one.pool_id == settings.pool_id]
    capacity = capacity_us(bill.hour, serving)
    usable = [at for at, row in enumerate(rows) if row.context >= 1 and row.cached <= row.context]
    if not capacity or not usable:
        return costs, bill.billing_currency
    curve = recorded_curve(connection, settings.curve_id)
    targets = [None if one is None else one / 1_000 for one in (settings.ttft_target_ms, settings.itl_target_ms)]
    seconds = estimated_seconds(
        curve, settings.engine(), _requests([rows[at] for at in usable]), targets[0], targets[1]
    )
    amount = Bill(to_line(bill.amount), bill.billing_currency).minor
    for at, own in zip(usable, seconds.tolist(), strict=True):
        costs[at] = None if np.isnan(own) else estimated_cost(own, amount, capacity)
    return costs, bill.billing_currency


def _requests(rows: Sequence[Any]) -> Requests:
    """Token counts as columns; an estimate reads no times."""
    count = len(rows)
    steps = [UNKNOWN if row.accepted_steps is None else row.accepted_steps for row in rows]
    return Requests(
        request_id=np.array([row.event_id for row in rows], np.str_),
        replica=np.full(count, UNKNOWN),
        received_at=np.zeros(count, np.int64),
        prefill_started_at=np.full(count, NO_TIME),
        first_token_at=np.full(count, NO_TIME),
        completed_at=np.full(count, NO_TIME),
        context_tokens=np.array([row.context for row in rows], np.int64),
        cached_tokens=np.array([row.cached if row.known else UNKNOWN for row in rows], np.int64),
        output_tokens=np.array([row.output for row in rows], np.int64),
        decode_steps=np.array(steps, np.int64),
        positions=np.full(count, UNKNOWN),
        shared_tokens=np.zeros(count, np.int64),
        failed=np.zeros(count, np.bool_),
    )
