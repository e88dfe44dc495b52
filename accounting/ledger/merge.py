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
from accounting.ledger.rollups import ADD_STAGE_15M, ADD_STAGE_USER_DAY
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
    "VALUES (%(tenant)s, now(), %(format)s, 'zstd', %(events)s, %(body)s) RETURNING raw_batch"
)
_EVENTS = (
    f"INSERT INTO usage_events (tenant, received_at, raw_batch, {STAGED}) "
    f"SELECT %(tenant)s, now(), %(raw_batch)s, {STAGED_CAST} FROM stage"
)
_EXCEPTION = (
    "INSERT INTO exceptions (tenant, event_id, body_hash, format, reason, detail, usage_body) VALUES "
    "(%(tenant)s, %(event_id)s, %(body_hash)s, %(format)s, 'conflicting_body', "
    "'event_id is known with a different body; the first one stays', %(usage_body)s) ON CONFLICT DO NOTHING"
)
RETRIES = 8


@dataclass(frozen=True)
class Merged:
    """What became of a staged batch. Attributes: duplicates, conflicts: positions in the batch; the rest was accepted."""

    duplicates: frozenset[int]
    conflicts: frozenset[int]


def commit(
    engine: Engine, context: TenantContext, batch: pa.RecordBatch, usage_bodies: list[bytes], wire_format: str
) -> Merged:
    """Runs `merge` in a transaction of its own; a deadlock or a serialization failure is tried again.

    Raises StorageUnavailable when the database is out of reach: then nothing is known to be kept, and sending again is safe.
    """
    if batch.num_rows == 0:
        return Merged(frozenset(), frozenset())
    for attempt in range(RETRIES):
        try:
            with driver_connection(engine) as connection:
                merged = merge(connection, context, batch, usage_bodies, wire_format)
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
    wire_format: str,
) -> Merged:
    """Stores a batch (schema `stage.SCHEMA`, raw_index 0..n-1) and adds its rollups, in the connection's open transaction.

    An event whose id is known is left out: a duplicate where the bodies are equal, else a conflict; the first stays.
    """
    parameters: dict[str, Any] = {"tenant": context.tenant, "tz": context.reporting_tz, "format": wire_format}
    connection.execute(_BEGIN, parameters)
    copy_to_stage(connection, batch)
    duplicates: set[int] = set()
    conflicts: set[int] = set()
    if connection.execute(_IDENTIFY, parameters).rowcount < batch.num_rows:
        for position, equal in connection.execute(_KNOWN, parameters).fetchall():
            (duplicates if equal else conflicts).add(position)
    if len(duplicates) + len(conflicts) < batch.num_rows:
        store_stage(connection, context, usage_bodies, wire_format)
    for position in sorted(conflicts):
        known = {name: batch[name][position].as_py() for name in ("event_id", "body_hash")}
        connection.execute(_EXCEPTION, {**parameters, **known, "usage_body": usage_bodies[position].decode()})
    return Merged(frozenset(duplicates), frozenset(conflicts))


def store_stage(
    connection: psycopg.Connection[Any], context: TenantContext, usage_bodies: list[bytes], wire_format: str
) -> None:
    """Moves what is staged into usage_events with the block of its usage parts, and adds its rollups."""
    parameters: dict[str, Any] = {"tenant": context.tenant, "tz": context.reporting_tz, "format": wire_format}
    body = zstandard.ZstdCompressor(level=1).compress(b"\n".join(usage_bodies))
    row = connection.execute(_RAW, {**parameters, "events": len(usage_bodies), "body": body}).fetchone()
    assert row is not None
    connection.execute(_EVENTS, {**parameters, "raw_batch": row[0]})
    connection.execute(ADD_STAGE_15M, parameters)
    connection.execute(ADD_STAGE_USER_DAY, parameters)
