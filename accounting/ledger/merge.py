"""How does a batch of priced events become rows, each exactly once, with its rollups, in one transaction?"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import zstandard
from sqlalchemy import Engine

from accounting.errors import StorageUnavailable
from accounting.ledger.booking import STAGE_BOOKED
from accounting.ledger.exceptions import ExceptionRow, add
from accounting.ledger.newest import NEWEST
from accounting.ledger.observers import rank
from accounting.ledger.rollups import ADD_STAGE
from accounting.ledger.stage import STAGED, STAGED_CAST, copy_to_stage
from accounting.storage.engine import driver_connection
from accounting.tenant import TenantContext

_BEGIN = (
    "SELECT set_config('tokencogs.tenant', %(tenant)s, true), "
    "pg_advisory_xact_lock_shared(hashtext('tokencogs.rollups'), hashtext(%(tenant)s))"
)
_IDENTIFY = (
    "INSERT INTO event_ids (tenant, event_id, occurred_at, body_hash) "
    "SELECT %(tenant)s, event_id, occurred_at, body_hash FROM stage ORDER BY event_id, raw_index ON CONFLICT DO NOTHING"
)
# A row of event_ids that this transaction did not make was there before; one that it made for another body took the id first.
_KNOWN = (
    "DELETE FROM stage USING event_ids known WHERE known.tenant = %(tenant)s AND known.event_id = stage.event_id "
    "AND (known.xmin <> pg_current_xact_id()::xid OR known.body_hash <> stage.body_hash) "
    "RETURNING stage.raw_index, known.body_hash = stage.body_hash"
)
_RAW = (
    "INSERT INTO raw_usage (tenant, received_at, format, codec, events, body) "
    "VALUES (%(tenant)s, now(), 'lines', 'zstd', %(events)s, %(body)s) RETURNING raw_batch"
)
_EVENTS = (
    f"INSERT INTO usage_events (tenant, received_at, raw_batch, {STAGED}) "
    f"SELECT %(tenant)s, now(), %(raw_batch)s, {STAGED_CAST} FROM stage"
)
RETRIES = 8


_STORED = (
    f"SELECT wire_format, body_hash FROM ({NEWEST.format(tenant='%(tenant)s', event_id='%(event_id)s')}) AS newest"
)


@dataclass(frozen=True)
class Merged:
    """What became of a staged batch; the rest was accepted.

    Attributes:
        duplicates, conflicts: positions in the batch.
        better: positions of events that a lower-ranked observer had reported (observers.py): they replace what is stored.
    """

    duplicates: frozenset[int] = frozenset()
    conflicts: frozenset[int] = frozenset()
    better: frozenset[int] = frozenset()


def commit(
    engine: Engine,
    context: TenantContext,
    batch: pa.RecordBatch,
    usage_bodies: list[bytes],
    exceptions: list[ExceptionRow],
) -> Merged:
    """Runs `merge` in a transaction of its own; a deadlock or a serialization failure is tried again.

    Raises StorageUnavailable when the database is out of reach: then nothing is known to be kept, and sending again is safe.
    """
    if batch.num_rows == 0 and not exceptions:
        return Merged()
    for attempt in range(RETRIES):
        try:
            with driver_connection(engine) as connection:
                merged = merge(connection, context, batch, usage_bodies, exceptions)
                connection.commit()
                return merged
        except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
            if attempt == RETRIES - 1:
                raise StorageUnavailable(
                    f"{RETRIES} attempts ended in {type(error).__name__}; send the batch again"
                ) from error
            time.sleep(random.uniform(0, 0.02 * 2**attempt))
    raise AssertionError("unreachable")


def merge(
    connection: psycopg.Connection[Any],
    context: TenantContext,
    batch: pa.RecordBatch,
    usage_bodies: list[bytes],
    exceptions: list[ExceptionRow],
) -> Merged:
    """Stores a batch (schema `stage.SCHEMA`, raw_index 0..n-1), its rollups and exceptions, in the connection's open transaction.

    An event whose id is known is left out: a duplicate where the bodies are equal, else a conflict; the first stays. Only where
    two observers of different rank report one call is the lower a duplicate, and the higher better.
    """
    parameters: dict[str, Any] = {"tenant": context.tenant}
    connection.execute(_BEGIN, parameters)
    duplicates: set[int] = set()
    conflicts: set[int] = set()
    better: set[int] = set()
    if batch.num_rows:
        copy_to_stage(connection, batch)
        if connection.execute(_IDENTIFY, parameters).rowcount < batch.num_rows:
            for position, equal in connection.execute(_KNOWN, parameters).fetchall():
                (duplicates if equal else conflicts).add(position)
        if len(duplicates) + len(conflicts) < batch.num_rows:
            store_stage(connection, context, usage_bodies)
        for position in sorted(conflicts):
            kind = _observed(connection, context, batch, position)
            if kind is not None:
                conflicts.remove(position)
                (better if kind else duplicates).add(position)
    rows = [*exceptions, *(_conflict(batch, usage_bodies, position) for position in sorted(conflicts))]
    add(connection, context.tenant, rows)
    return Merged(frozenset(duplicates), frozenset(conflicts), frozenset(better))


def _observed(
    connection: psycopg.Connection[Any], context: TenantContext, batch: pa.RecordBatch, position: int
) -> bool | None:
    """Whether a known event is now reported by a better observer; None where the observers are of one rank. What is the newest row already,
    as it took the place of another observer's, is no better."""
    event_id = batch["event_id"][position].as_py()
    stored = connection.execute(_STORED, {"tenant": context.tenant, "event_id": event_id}).fetchone()
    if stored and bytes(stored[1]) == batch["body_hash"][position].as_py():
        return False
    known, now = rank(str(stored[0])) if stored else None, rank(batch["wire_format"][position].as_py())
    return None if known is None or known == now else now > known


def _conflict(batch: pa.RecordBatch, usage_bodies: list[bytes], position: int) -> ExceptionRow:
    return ExceptionRow(
        kind="conflict",
        event_id=batch["event_id"][position].as_py(),
        format=batch["wire_format"][position].as_py(),
        reason="conflicting_body",
        detail="event_id is known with a different body; the first one stays",
        usage_body=usage_bodies[position].decode(),
        occurred_at=batch["occurred_at"][position].as_py(),
    )


def store_stage(connection: psycopg.Connection[Any], context: TenantContext, usage_bodies: list[bytes]) -> None:
    """Moves what is staged into usage_events with the block of its usage parts, and adds its rollups."""
    parameters: dict[str, Any] = {"tenant": context.tenant, "tz": context.reporting_tz}
    body = zstandard.ZstdCompressor(level=1).compress(b"\n".join(usage_bodies))
    row = connection.execute(_RAW, {**parameters, "events": len(usage_bodies), "body": body}).fetchone()
    assert row is not None
    connection.execute(STAGE_BOOKED)
    connection.execute(_EVENTS, {**parameters, "raw_batch": row[0]})
    for statement in ADD_STAGE:
        connection.execute(statement, parameters)
