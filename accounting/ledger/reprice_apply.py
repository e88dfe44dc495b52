"""How do re-priced events become ledger lines? Correction charges are appended, nothing is edited, and the rollups follow.

An event that stays priced in its currency gets one line, the difference. One that gains or loses its price, or changes currency, is
reversed line by line and stated anew, so that its tokens move to the coverage they now belong to. The booking period is that of the
event, or the first open one. Charge ids count the lines of an event, so the same correction can't be appended twice.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from pgpq import ArrowToPostgresBinaryEncoder
from sqlalchemy import Connection, text

from accounting.ledger import rollups
from accounting.ledger.booking import booked
from accounting.ledger.reprice_compare import Changed
from accounting.ledger.reprice_plan import CAUSES
from accounting.tenant import TenantContext

_MOMENT = pa.timestamp("us", tz="UTC")
_STAGE = pa.schema(
    {
        "event_id": pa.string(),
        "revision": pa.int16(),
        "occurred_at": _MOMENT,
        "lines": pa.int32(),
        "restated": pa.bool_(),
        "charge_status": pa.string(),
        "seller": pa.string(),
        "billing_currency": pa.string(),
        "sku_price_id": pa.int64(),
        "list_sku_price_id": pa.int64(),
        "list_cost_e15": pa.int64(),
        "contracted_cost_e15": pa.int64(),
        "reason": pa.string(),
    }
)
"""One row a changed event: its new state where it is restated, else the difference."""
_SQL_TYPES = {
    pa.string(): "text",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
    _MOMENT: "timestamptz",
}
_MAKE = (
    "CREATE TEMP TABLE IF NOT EXISTS reprice_stage ("
    + ", ".join(f"{field.name} {_SQL_TYPES[field.type]}" for field in _STAGE)
    + ") ON COMMIT DELETE ROWS"
)
_COPY = f"COPY reprice_stage ({', '.join(_STAGE.names)}) FROM STDIN (FORMAT BINARY)"

# Between the scan and this transaction an event may have been voided, revised or corrected.
_DROP_MOVED = text(
    """
    DELETE FROM reprice_stage s WHERE EXISTS (
      SELECT FROM usage_events newer WHERE newer.tenant = :tenant AND newer.event_id = s.event_id
        AND newer.revision > 0 AND newer.revision > s.revision)
    OR s.lines <> (SELECT count(*) FROM charges c WHERE c.tenant = :tenant AND c.subject_kind = 'event'
      AND c.subject_id = s.event_id AND c.subject_revision = s.revision)
    """
)
_WRITES = (
    "e.cache_write_5m_tokens::bigint + e.cache_write_1h_tokens + e.cache_write_30m_tokens + e.cache_write_12h_tokens "
    "+ e.cache_write_tokens"
)
_TOKENS = ("e.uncached_input_tokens", "e.cache_read_tokens", f"({_WRITES})", "e.output_tokens")
_QUARTER_HOUR = "date_bin('15 minutes', e.occurred_at, timestamptz '2000-01-01 00:00:00+00')"
_COLUMNS = (
    "charge_id, supersedes, basis, reason, run_id, class, tenant, subject_kind, subject_id, subject_revision, charge_period_start, "
    "booking_period, category, charge_status, seller, model, purpose, account_id, user_id, feature, deployment, "
    f"billing_currency, sku_price_id, list_sku_price_id, {', '.join(rollups.MEASURES)}"
)
_OF_EVENT = (
    f"e.tenant, 'event', e.event_id, e.revision, {_QUARTER_HOUR}, {booked('e.booking_period')}, 'Usage', {{status}}, {{seller}}, "
    "coalesce(e.response_model, e.model), e.purpose, e.account_id, e.user_id, e.feature, e.deployment, {currency}, "
)
_JOIN = (
    "FROM reprice_stage s JOIN usage_events e ON e.tenant = :tenant AND e.occurred_at = s.occurred_at "
    "AND e.event_id = s.event_id AND e.revision = s.revision"
)
_FIRST_ID = "e.event_id || ':' || e.revision"
_REVERSE_FIRST = text(
    f"INSERT INTO charges ({_COLUMNS}) SELECT {_FIRST_ID} || '/reversal', {_FIRST_ID}, 'reversal', 'repriced', :run_id, "
    "'Correction', "
    + _OF_EVENT.format(status="e.charge_status", seller="e.seller", currency="e.billing_currency")
    + f"e.sku_price_id, e.list_sku_price_id, -1, {', '.join('-' + name for name in _TOKENS)}, "
    "-e.list_cost_e15 * 0.000000000000001, "
    + ", ".join(["-e.contracted_cost_e15 * 0.000000000000001"] * 3)
    + f" {_JOIN} WHERE s.restated AND NOT EXISTS (SELECT FROM charges c WHERE c.tenant = :tenant "
    f"AND c.charge_id = {_FIRST_ID} || '/reversal') RETURNING charge_id"
)
_COPIED = (
    "tenant, subject_kind, subject_id, subject_revision, charge_period_start, booking_period, category, charge_status, seller, "
    "model, purpose, account_id, user_id, feature, deployment, billing_currency, sku_price_id, list_sku_price_id"
)
_MADE = ", ".join("c." + name for name in _COPIED.split(", ")).replace("c.booking_period", booked("c.booking_period"))
_REVERSE_LATER = text(
    f"INSERT INTO charges ({_COLUMNS}) SELECT c.charge_id || '/reversal', c.charge_id, 'reversal', 'repriced', :run_id, 'Correction', "
    f"{_MADE}, {', '.join('-c.' + name for name in rollups.MEASURES)} "
    "FROM reprice_stage s JOIN charges c ON c.tenant = :tenant AND c.subject_kind = 'event' AND c.subject_id = s.event_id "
    "AND c.subject_revision = s.revision WHERE s.restated AND s.lines > 0 AND c.basis <> 'reversal' AND NOT EXISTS ("
    "SELECT FROM charges r WHERE r.tenant = :tenant AND r.charge_id = c.charge_id || '/reversal') RETURNING charge_id"
)
_STATE = text(
    f"INSERT INTO charges ({_COLUMNS}) SELECT {_FIRST_ID} || '/correction/' || s.lines + 1, {_FIRST_ID}, e.basis, s.reason, :run_id, "
    "'Correction', "
    + _OF_EVENT.format(status="s.charge_status", seller="s.seller", currency="s.billing_currency")
    + "s.sku_price_id, s.list_sku_price_id, CASE WHEN s.restated THEN 1 ELSE 0 END, "
    + ", ".join(f"CASE WHEN s.restated THEN {name} ELSE 0 END" for name in _TOKENS)
    + ", s.list_cost_e15 * 0.000000000000001, "
    + ", ".join(["s.contracted_cost_e15 * 0.000000000000001"] * 3)
    + f" {_JOIN} RETURNING charge_id"
)


def append(connection: Connection, context: TenantContext, run_id: str, changed: Changed) -> tuple[int, int]:
    """Appends the corrections of changed events in the caller's transaction; (lines appended, events left out as they moved).

    The tenant's other writers wait until the transaction ends, so that no event changes between the look and the line.
    """
    parameters = {"tenant": context.tenant, "run_id": run_id}
    rollups.lock(connection, context.tenant, exclusive=True)
    _copy(connection, _staged(changed))
    skipped = connection.execute(_DROP_MOVED, parameters).rowcount
    made: list[str] = []
    for statement in (_REVERSE_LATER, _REVERSE_FIRST, _STATE):
        made += connection.execute(statement, parameters).scalars()
    rollups.add_lines(connection, context.reporting_tz, made)
    return len(made), skipped


def _staged(changed: Changed) -> pa.RecordBatch:
    held, now = changed.held, changed.rated
    same = pc.and_(
        pc.equal(held["charge_status"].cast(pa.string()), now["charge_status"]),
        pc.and_(
            pc.equal(held["seller"].cast(pa.string()), now["seller"]),
            pc.equal(held["billing_currency"].cast(pa.string()), now["billing_currency"]),
        ),
    )
    # A list cost that was unknown and is known now, or the other way round, has no difference.
    same = pc.and_(same, pc.equal(held["list_cost_e15"].is_null(), now["list_cost_e15"].is_null()))
    cause = pa.array(CAUSES).take(pa.array(changed.cause))
    columns: dict[str, Any] = {
        "event_id": held["event_id"],
        "revision": held["revision"],
        "occurred_at": held["occurred_at"],
        "lines": held["lines"],
        "restated": pc.invert(same),
        "charge_status": now["charge_status"],
        "seller": now["seller"],
        "billing_currency": now["billing_currency"],
        "sku_price_id": now["sku_price_id"],
        "list_sku_price_id": now["list_sku_price_id"],
        "reason": pc.coalesce(now["reason"], cause),
    }
    for name in ("list_cost_e15", "contracted_cost_e15"):
        columns[name] = pc.if_else(same, pc.subtract(now[name], held[name]), now[name])
    return pa.RecordBatch.from_arrays(
        [columns[name].cast(_STAGE.field(name).type) for name in _STAGE.names], schema=_STAGE
    )


def _copy(connection: Connection, staged: pa.RecordBatch) -> None:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    driver.execute(_MAKE)
    encoder = ArrowToPostgresBinaryEncoder(_STAGE)
    with driver.cursor().copy(_COPY) as copy:
        copy.write(encoder.write_header())
        copy.write(encoder.write_batch(staged))
        copy.write(encoder.finish())
    driver.execute("ANALYZE reprice_stage")
