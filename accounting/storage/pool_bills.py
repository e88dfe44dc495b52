"""What did an hour of a pool cost, by its newest bill, and what did unused capacity cost? Append-only: a newer bill supersedes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, Table, insert, text

from accounting.errors import InvalidInput
from accounting.money import format_plain, from_line, to_line
from accounting.selfhosted.pool import HOUR_US
from accounting.storage.engine import read_only
from accounting.storage.tables import pool_bills, unused_gpu_hours
from accounting.tenant import TenantContext

SCHEDULE, CSV, FOCUS = "schedule", "csv", "focus"
LONGEST = timedelta(days=400)
"""Billed or answered at once at most, so that one call can't run for hours."""
_BILLS = text(
    """
    SELECT DISTINCT ON (pool_id, hour) * FROM pool_bills
    WHERE hour >= :since AND hour < :until AND (CAST(:subject AS text) IS NULL OR pool_id = :subject)
    ORDER BY pool_id, hour, recorded_at DESC, record_id DESC
    """
)
_UNUSED = text(
    """
    SELECT DISTINCT ON (rate_id, hour) * FROM unused_gpu_hours
    WHERE hour >= :since AND hour < :until AND (CAST(:subject AS text) IS NULL OR rate_id = :subject)
    ORDER BY rate_id, hour, recorded_at DESC, record_id DESC
    """
)


_TURN = text("SELECT pg_advisory_xact_lock(hashtext('tokencogs.pool_bills:' || :tenant))")


@dataclass(frozen=True)
class BilledHour:
    """One hour of a pool, or of capacity nobody used.

    Attributes:
        subject: pool_id; of unused capacity the rate's id.
        amount: units of 10^-18. gpu_us: GPU-microseconds, None where unknown.
        parts: of a pool's bill, what it is made of; None on unused capacity.
    """

    subject: str
    hour: datetime
    amount: int
    billing_currency: str
    gpu_us: int | None
    source: str
    source_id: str | None
    parts: list[dict[str, Any]] | None


def begin(connection: Connection, context: TenantContext) -> datetime:
    """The moment at which this transaction's bills are recorded; runs of a tenant take turns."""
    connection.execute(_TURN, {"tenant": context.tenant})
    moment: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return moment


def read_bills(
    connection: Connection, since: datetime, until: datetime, pool_id: str | None = None
) -> dict[tuple[str, datetime], BilledHour]:
    """(pool, hour) -> its newest bill, of the transaction's tenant."""
    rows = connection.execute(_BILLS, {"since": since, "until": until, "subject": pool_id})
    return {(row.pool_id, row.hour): _billed(row.pool_id, row, row.parts) for row in rows}


def read_unused(
    connection: Connection, since: datetime, until: datetime, rate_id: str | None = None
) -> dict[tuple[str, datetime], BilledHour]:
    """(rate, hour) -> what its capacity cost that nobody used."""
    rows = connection.execute(_UNUSED, {"since": since, "until": until, "subject": rate_id})
    return {(row.rate_id, row.hour): _billed(row.rate_id, row, None) for row in rows}


def billed(
    engine: Engine, context: TenantContext, since: datetime, until: datetime, pool_id: str | None = None
) -> list[dict[str, Any]]:
    """Bills of hours as JSON, by pool and hour. Raises InvalidInput for a period that can't be used."""
    _check_period(since, until)
    with read_only(engine, context.tenant) as connection:
        found = read_bills(connection, since, until, pool_id)
    return [{"pool_id": one.subject} | billed_json(one) for one in found.values()]


def unbilled(
    engine: Engine, context: TenantContext, since: datetime, until: datetime, rate_id: str | None = None
) -> list[dict[str, Any]]:
    """Unused capacity as JSON, by rate and hour. Raises InvalidInput for a period that can't be used."""
    _check_period(since, until)
    with read_only(engine, context.tenant) as connection:
        found = read_unused(connection, since, until, rate_id)
    return [{"rate_id": one.subject} | billed_json(one) for one in found.values()]


def _check_period(since: datetime, until: datetime) -> None:
    if until <= since:
        raise InvalidInput("to", until.isoformat(), f"must be after {since.isoformat()}")
    if until - since > LONGEST:
        raise InvalidInput("to", until.isoformat(), f"at most {LONGEST.days} days are answered at once")


def append(
    connection: Connection, context: TenantContext, hours: Sequence[BilledHour], actor: str, at: datetime
) -> None:
    """Writes hours down: bills, and what is of unused capacity."""
    for table, subject, rows in (
        (pool_bills, "pool_id", [one for one in hours if one.parts is not None]),
        (unused_gpu_hours, "rate_id", [one for one in hours if one.parts is None]),
    ):
        if rows:
            connection.execute(insert(table), [_row(table, subject, context, one, actor, at) for one in rows])


def billed_json(one: BilledHour) -> dict[str, Any]:
    """As JSON: amounts and GPU-hours as decimal text."""
    return {
        "hour": one.hour.isoformat().replace("+00:00", "Z"),
        "amount": format_plain(from_line(one.amount)),
        "billing_currency": one.billing_currency,
        "gpu_hours": None if one.gpu_us is None else format_plain(gpu_hours(one.gpu_us)),
        "source": one.source,
        "source_id": one.source_id,
    } | ({} if one.parts is None else {"parts": one.parts})


def gpu_hours(gpu_us: int) -> Decimal:
    """GPU-hours of GPU-microseconds, to the 18 decimals a column holds; the amount does not come from it."""
    return from_line(round(gpu_us * to_line(Decimal(1)) / HOUR_US)) if gpu_us % HOUR_US else Decimal(gpu_us // HOUR_US)


def _row(
    table: Table, subject: str, context: TenantContext, one: BilledHour, actor: str, at: datetime
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "tenant": context.tenant,
        subject: one.subject,
        "hour": one.hour,
        "amount": from_line(one.amount),
        "billing_currency": one.billing_currency,
        "gpu_hours": None if one.gpu_us is None else gpu_hours(one.gpu_us),
        "source": one.source,
        "source_id": one.source_id,
        "created_by": actor,
        "recorded_at": at,
    }
    return row | ({"parts": one.parts} if table is pool_bills else {})


def _billed(subject: str, row: Any, parts: list[dict[str, Any]] | None) -> BilledHour:
    gpu_us = None if row.gpu_hours is None else round(row.gpu_hours * HOUR_US)
    return BilledHour(
        subject, row.hour, to_line(row.amount), row.billing_currency, gpu_us, row.source, row.source_id, parts
    )
