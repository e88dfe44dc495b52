"""How do priced columns get into the database fast? Arrow to binary COPY into a temporary table of the connection."""

from __future__ import annotations

import psycopg
import pyarrow as pa
from pgpq import ArrowToPostgresBinaryEncoder

from accounting.usage.classes import USAGE_COLUMNS
from accounting.usage.columns import MOMENT, TOP

_FIRST_CHARGE = {
    "booking_period": pa.date32(),
    "revision": pa.int16(),
    "raw_index": pa.int32(),
    "basis": pa.string(),
    "seller": pa.string(),
    "charge_status": pa.string(),
    "reason": pa.string(),
    "sku_price_id": pa.int64(),
    "list_cost_e15": pa.int64(),
    "contracted_cost_e15": pa.int64(),
    "billing_currency": pa.string(),
    "list_sku_price_id": pa.int64(),
}

SCHEMA = pa.schema(
    {
        **TOP,
        "usage_known": pa.bool_(),
        "cache_read_known": pa.bool_(),
        **{name: pa.int32() for name in USAGE_COLUMNS},
        "body_hash": pa.binary(),
        "wire_format": pa.string(),
        **_FIRST_CHARGE,
    }
)
"""Columns of a staged event: what was received, then its first charge. raw_index is the row's position in the stage."""

_CASTS = {"reported_cost_usd": "numeric", "tags": "jsonb"}
_SQL_TYPES = {
    pa.string(): "text",
    MOMENT: "timestamptz",
    pa.float64(): "double precision",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
    pa.binary(): "bytea",
    pa.date32(): "date",
}

_COLUMNS = ", ".join(f"{field.name} {_SQL_TYPES[field.type]}" for field in SCHEMA)
_MAKE = f"CREATE TEMP TABLE IF NOT EXISTS stage ({_COLUMNS}) ON COMMIT DELETE ROWS"
_COPY = f"COPY stage ({', '.join(SCHEMA.names)}) FROM STDIN (FORMAT BINARY)"

STAGED = ", ".join(SCHEMA.names)
STAGED_CAST = ", ".join(f"{name}::{_CASTS[name]}" if name in _CASTS else name for name in SCHEMA.names)


def copy_to_stage(connection: psycopg.Connection[tuple[object, ...]], batch: pa.RecordBatch) -> None:
    """Fills the connection's temporary table `stage` (schema SCHEMA) within the open transaction; it empties at commit."""
    connection.execute(_MAKE)
    encoder = ArrowToPostgresBinaryEncoder(SCHEMA)
    with connection.cursor().copy(_COPY) as copy:
        copy.write(encoder.write_header())
        copy.write(encoder.write_batch(batch))
        copy.write(encoder.finish())
