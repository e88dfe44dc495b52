"""How is usage corrected when rows are never edited? A void or a revision is a new row, and reversals undo the lines before it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
from sqlalchemy import Connection, Engine, Row, text

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.ledger import rollups
from accounting.ledger.booking import booked, correction
from accounting.ledger.coalesce import Distinct
from accounting.ledger.first_charge import first_charges
from accounting.ledger.layers import Books
from accounting.ledger.merge import Merged, store_stage
from accounting.ledger.newest import newest_row
from accounting.ledger.observers import rank
from accounting.ledger.pool_return import return_charges
from accounting.ledger.stage import copy_to_stage
from accounting.storage.engine import transaction
from accounting.storage.tables import usage_events
from accounting.tenant import TenantContext
from accounting.usage.classes import USAGE_COLUMNS
from accounting.usage.columns import Prepared, prepare

_LOCK = text("SELECT pg_advisory_xact_lock(hashtext(:tenant), hashtext(:event_id))")

_SIGNED = (*rollups.COUNTS, *rollups.COSTS)
_COPIED = (
    "tenant, subject_kind, subject_id, subject_revision, charge_period_start, booking_period, category, class, charge_status, "
    "seller, model, purpose, account_id, user_id, feature, deployment, billing_currency, policy, quality, sku_price_id, "
    "list_sku_price_id"
)
_MADE = _COPIED.replace("booking_period", booked("booking_period")).replace(
    " class,", f" {correction('class', 'booking_period')},"
)
_REVERSE = text(
    f"INSERT INTO charges (charge_id, supersedes, basis, reason, {_COPIED}, {', '.join(_SIGNED)}) "
    f"SELECT charge_id || '/reversal', charge_id, 'reversal', :reason, {_MADE}, {', '.join('-' + name for name in _SIGNED)} "
    "FROM ledger line WHERE tenant = :tenant AND subject_kind = 'event' AND subject_id = :event_id "
    "AND basis NOT IN ('reversal', 'attributed') "
    "AND occurred_at >= date_bin('15 minutes', CAST(:occurred_at AS timestamptz), timestamptz '2000-01-01 00:00:00+00') "
    "AND occurred_at <= :occurred_at AND subject_revision = :revision "
    "AND NOT EXISTS (SELECT FROM charges c WHERE c.tenant = :tenant AND c.charge_id = line.charge_id || '/reversal') "
    "RETURNING supersedes, charge_id"
)
# What a re-pricing run had reversed before is not what the void reversed.
_REVERSED = text(
    "SELECT supersedes FROM charges WHERE tenant = :tenant AND subject_kind = 'event' AND subject_id = :event_id "
    "AND subject_revision = :revision AND basis IN ('reversal', 'attributed') AND run_id IS NULL"
)
_EMPTY = dict.fromkeys(USAGE_COLUMNS, "0") | {
    "revision": "revision + 1",
    "received_at": "now()",
    "charge_status": "'void'",
    "reason": ":reason",
    **dict.fromkeys(
        (
            "sku_price_id",
            "list_sku_price_id",
            "list_cost_e15",
            "contracted_cost_e15",
            "raw_batch",
            "raw_index",
            "context_tokens",
        ),
        "NULL",
    ),
}
_NAMES = [column.name for column in usage_events.columns]
_VOID = text(
    f"INSERT INTO usage_events ({', '.join(_NAMES)}) SELECT {', '.join(_EMPTY.get(name, name) for name in _NAMES)} FROM usage_events "
    "WHERE tenant = :tenant AND event_id = :event_id AND revision = :revision AND occurred_at = :occurred_at"
)


def void(engine: Engine, context: TenantContext, event_id: str, reason: str) -> dict[str, Any]:
    """Undoes an event: a further row says so, and every line it made is reversed. Voiding it again changes nothing.

    Raises NotFound for an unknown id, InvalidInput for an empty reason.
    """
    if not reason.strip():
        raise InvalidInput("reason", reason, "say why the event is void")
    with transaction(engine, context.tenant) as connection:
        latest = locked(connection, context, event_id)
        if latest.charge_status == "void":
            known = {"tenant": context.tenant, "event_id": event_id, "revision": latest.revision - 1}
            lines = sorted(connection.execute(_REVERSED, known).scalars())
            return {"event_id": event_id, "revision": latest.revision, "status": "void", "reversed_charge_ids": lines}
        lines = _reverse(connection, context, latest, reason)
        connection.execute(_VOID, _place(context, latest) | {"reason": reason})
    return {"event_id": event_id, "revision": latest.revision + 1, "status": "void", "reversed_charge_ids": lines}


def revise(engine: Engine, context: TenantContext, book: Books, event_id: str, body: bytes) -> dict[str, Any]:
    """Replaces what is known of an event by one native event of the same id, priced at its own time. The same body again changes nothing.

    Raises NotFound for an unknown id, InvalidInput with the field at fault, Conflict where the event is void.
    """
    prepared = _single(body, event_id)
    staged, refused = first_charges(prepared.batch, book, context)
    if refused:
        raise InvalidInput(*refused[0])
    with transaction(engine, context.tenant) as connection:
        latest = locked(connection, context, event_id)
        if latest.charge_status == "void":
            raise Conflict(f"event_id={event_id!r}: is void; log the call under a new id")
        return replace(connection, context, latest, staged, prepared.usage_bodies)


def replace(
    connection: Connection, context: TenantContext, latest: Row[Any], staged: pa.RecordBatch, usage_bodies: list[bytes]
) -> dict[str, Any]:
    """Appends one priced event (schema stage.SCHEMA, one row) as the next revision of `latest`, whose lines are reversed."""
    answer = {"event_id": latest.event_id, "revision": latest.revision, "status": latest.charge_status}
    if latest.body_hash == staged["body_hash"][0].as_py():
        return answer | {"reversed_charge_ids": []}
    lines = _reverse(connection, context, latest, f"revised by revision {latest.revision + 1}")
    number = pa.array(np.array([latest.revision + 1], np.int16))
    staged = staged.set_column(staged.schema.get_field_index("revision"), "revision", number)
    staged = staged.set_column(staged.schema.get_field_index("raw_index"), "raw_index", pa.array([0], pa.int32()))
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    copy_to_stage(driver, staged)
    store_stage(driver, context, usage_bodies)
    # The stage empties at commit; a transaction with several revisions needs it empty before the next one.
    driver.execute("DELETE FROM stage")
    status = staged["charge_status"][0].as_py()
    return answer | {"revision": latest.revision + 1, "status": status, "reversed_charge_ids": lines}


def replace_observed(engine: Engine, context: TenantContext, distinct: Distinct, merged: Merged) -> None:
    """Lets better observers of known calls take their place (observers.py), each in a transaction of its own."""
    for position in sorted(merged.better):
        row = distinct.batch.slice(position, 1)
        with transaction(engine, context.tenant) as connection:
            latest = locked(connection, context, row["event_id"][0].as_py())
            if latest.charge_status != "void" and rank(latest.wire_format) < rank(row["wire_format"][0].as_py()):
                replace(connection, context, latest, row, [distinct.usage_bodies[position]])


def _single(body: bytes, event_id: str) -> Prepared:
    prepared = prepare(body, ndjson=False, now=datetime.now(UTC))
    if prepared.sent != 1:
        raise InvalidInput("body", f"{prepared.sent} events", "a revision is one event")
    if prepared.rejected:
        rejection = prepared.rejected[0]
        raise InvalidInput(rejection.field, rejection.value, rejection.reason)
    given = prepared.batch["event_id"][0].as_py()
    if given != event_id:
        raise InvalidInput("event_id", given, f"differs from the revised event's id {event_id!r}")
    return prepared


def locked(connection: Connection, context: TenantContext, event_id: str) -> Row[Any]:
    """The newest row of an event, with the event locked until the transaction ends."""
    parameters = {"tenant": context.tenant, "event_id": event_id}
    rollups.lock(connection, context.tenant, exclusive=False)
    connection.execute(_LOCK, parameters)
    latest = newest_row(connection, context.tenant, event_id)
    if latest is None:
        raise NotFound(f"event_id={event_id!r}: no such event")
    return latest


def _place(context: TenantContext, latest: Row[Any]) -> dict[str, Any]:
    return {
        "tenant": context.tenant,
        "event_id": latest.event_id,
        "revision": latest.revision,
        "occurred_at": latest.occurred_at,
    }


def _reverse(connection: Connection, context: TenantContext, latest: Row[Any], reason: str) -> list[str]:
    """Appends a reversal for every line of the newest row that has none, and adds them to the rollups; returns the lines reversed."""
    place = _place(context, latest) | {"reason": reason}
    made = list(connection.execute(_REVERSE, place))
    added = [row.charge_id for row in made]
    if latest.deployment is not None:
        returned, to_gap = return_charges(connection, context, place)
        made += returned
        added += [*(row.charge_id for row in returned), *to_gap]
    rollups.add_lines(connection, context.reporting_tz, added)
    return sorted(row.supersedes for row in made)
