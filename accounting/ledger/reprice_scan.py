"""What do booked events hold, column by column, as the rating reads them? One pass of COPY, in chunks of bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyarrow import csv
from sqlalchemy import Connection, text

from accounting.errors import InvalidInput
from accounting.ledger.corrected import CORRECTED, JOIN_CORRECTIONS, NEWEST_REVISION
from accounting.storage.engine import scanning
from accounting.usage.classes import USAGE_COLUMNS

CHUNK = 1 << 17
"""Events of a chunk: a few tens of MiB."""


@dataclass(frozen=True)
class RepriceFilter:
    """Which booked events are meant; None: all. Values are compared exactly as they stand in the ledger.

    Attributes:
        seller, model, user_id, account_id, feature, purpose: of the event; the model is the response's where there is one.
        status: charge status as first booked: priced or unpriced.
    """

    seller: str | None = None
    model: str | None = None
    user_id: str | None = None
    account_id: str | None = None
    feature: str | None = None
    purpose: str | None = None
    status: str | None = None

    @classmethod
    def parse(cls, where: str) -> RepriceFilter:
        """From text such as `seller=openai,model=gpt-5.4`; `user` and `account` are short for their ids."""
        known = {field.name for field in fields(cls)}
        short = {"user": "user_id", "account": "account_id"}
        found: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in where.split(","))):
            name, equals, value = part.partition("=")
            name = short.get(name.strip(), name.strip())
            if not equals or name not in known or not value.strip():
                raise InvalidInput("where", part, f"NAME=VALUE is expected, NAME one of {', '.join(sorted(known))}")
            if name in found:
                raise InvalidInput("where", part, f"{name} is given twice")
            found[name] = value.strip()
        return cls(**found)


_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
_MOMENT = pa.timestamp("us", tz="UTC")
_HELD = {
    "charge_status": _DICTIONARY,
    "seller": _DICTIONARY,
    "billing_currency": _DICTIONARY,
    "sku_price_id": pa.int64(),
    "list_sku_price_id": pa.int64(),
    "list_cost_e15": pa.int64(),
    "contracted_cost_e15": pa.int64(),
    "reason": _DICTIONARY,
    "lines": pa.int32(),
}
"""What the ledger holds of an event: the sum of its lines, and their newest price row and status."""

SCHEMA = pa.schema(
    {
        "event_id": pa.string(),
        "revision": pa.int16(),
        "occurred_at": _MOMENT,
        "provider": _DICTIONARY,
        "surface": _DICTIONARY,
        "model": _DICTIONARY,
        "region": _DICTIONARY,
        "service_tier": _DICTIONARY,
        "user_id": _DICTIONARY,
        "feature": _DICTIONARY,
        "batch": pa.bool_(),
        "cache_read_known": pa.bool_(),
        "basis": _DICTIONARY,
        **{name: pa.int64() for name in USAGE_COLUMNS},
        **_HELD,
    }
)
"""Columns of a chunk. `lines` counts the event's rows of `charges`; counts of 0 are never null here."""

_COLUMNS = {
    "model": "coalesce(e.response_model, e.model)",
    # Most counts of most events are 0: left out, they cost neither the server nor the wire anything.
    **{
        name: f"nullif(e.{name}, 0)" for name in USAGE_COLUMNS if name not in ("uncached_input_tokens", "output_tokens")
    },
}
_FIRST = {name: f"e.{name}" for name in _HELD} | {"lines": "0"}
# Self-hosted events wait for their pool, and a call without counts has nothing that a price could apply to.
_FROM = """
FROM usage_events e {join}
WHERE e.tenant = :tenant AND e.occurred_at >= CAST(:since AS timestamptz) AND e.occurred_at < CAST(:until AS timestamptz)
  AND e.charge_status <> 'void' AND e.deployment IS NULL AND e.usage_known AND {newest}
"""
_CONDITIONS = {
    "seller": "e.seller",
    "model": "coalesce(e.response_model, e.model)",
    "user_id": "e.user_id",
    "account_id": "e.account_id",
    "feature": "e.feature",
    "purpose": "e.purpose",
    "status": "e.charge_status",
}
_ANY_LATER = text(
    "SELECT EXISTS (SELECT FROM charges WHERE tenant = :tenant AND subject_kind = 'event' AND charge_period_start < :until "
    "AND charge_period_start >= date_bin('15 minutes', CAST(:since AS timestamptz), timestamptz '2000-01-01 00:00:00+00'))"
)
_EXPECTED = text(
    "SELECT coalesce(sum(events), 0)::bigint FROM rollup_15m WHERE tenant = :tenant AND category = 'Usage' AND bucket < :until "
    "AND bucket >= date_bin('15 minutes', CAST(:since AS timestamptz), timestamptz '2000-01-01 00:00:00+00')"
)


def expected(connection: Connection, tenant: str, since: datetime, until: datetime) -> int:
    """About how many events the period has, before any filter; for a progress bar."""
    return int(connection.execute(_EXPECTED, {"tenant": tenant, "since": since, "until": until}).scalar_one())


def statement(
    connection: Connection, tenant: str, since: datetime, until: datetime, where: RepriceFilter
) -> sql.Composed:
    """The SELECT behind `scan`, columns in the order of SCHEMA."""
    later = connection.execute(_ANY_LATER, {"tenant": tenant, "since": since, "until": until}).scalar_one()
    held = CORRECTED if later else _FIRST
    columns = (held.get(name) or _COLUMNS.get(name) or f"e.{name}" for name in SCHEMA.names)
    source = _FROM.format(join=JOIN_CORRECTIONS if later else "", newest=NEWEST_REVISION)
    query = _filled(f"SELECT {', '.join(columns)} {source}", tenant=tenant, since=since, until=until)
    for name, column in _CONDITIONS.items():
        wanted = getattr(where, name)
        if wanted is not None:
            query += sql.SQL(f"AND {column} = {{}} ").format(sql.Literal(wanted))
    return query


def _filled(query: str, **values: object) -> sql.Composed:
    """COPY takes no parameters: they are quoted into its query, `:name` each."""
    parts = re.split(rf"(?<!:):({'|'.join(values)})\b", query)
    return sql.Composed([sql.Literal(values[part]) if at % 2 else sql.SQL(part) for at, part in enumerate(parts)])


def scan(
    connection: Connection, tenant: str, since: datetime, until: datetime, where: RepriceFilter, size: int = CHUNK
) -> Iterator[pa.RecordBatch]:
    """The newest revision of every event of a price list in [since, until), in chunks of SCHEMA.

    The connection's transaction must have the tenant set and stay open until the last chunk is read.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    copied = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(statement(connection, tenant, since, until, where))
    # One chunk is parsed while the server sends the next.
    with scanning(connection), ThreadPoolExecutor(1) as beside, driver.cursor() as cursor, cursor.copy(copied) as copy:
        waiting: Future[pa.RecordBatch] | None = None
        while rows := list(islice(copy, size)):
            parsed, waiting = waiting, beside.submit(_parsed, rows)
            if parsed is not None:
                yield parsed.result()
        if waiting is not None:
            yield waiting.result()


def _parsed(rows: list[Any]) -> pa.RecordBatch:
    table = csv.read_csv(
        pa.BufferReader(b"".join(rows)),
        read_options=csv.ReadOptions(column_names=SCHEMA.names, block_size=1 << 20),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=SCHEMA,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
            true_values=["t"],
            false_values=["f"],
        ),
    )
    filled = {name: pc.fill_null(table[name], 0) for name in USAGE_COLUMNS}
    columns = [filled.get(name, table[name]).combine_chunks() for name in SCHEMA.names]
    return pa.RecordBatch.from_arrays([_one(column) for column in columns], schema=SCHEMA)


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Chunks of unequal dictionaries become one."""
    if isinstance(column, pa.ChunkedArray):
        unified = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column
        column = pa.concat_arrays(unified.chunks)
    return column
