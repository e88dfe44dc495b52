"""What would a changed rule make of the bodies already booked? The kept evidence is read again and compared; corrections on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import msgspec
import pyarrow as pa
import zstandard
from sqlalchemy import Connection, Engine, Row, text

from accounting.ledger.first_charge import first_charges
from accounting.ledger.layers import Books
from accounting.ledger.revise import locked, replace
from accounting.money import format_minor
from accounting.storage.engine import read_only, transaction
from accounting.tenant import TenantContext
from accounting.usage.classes import USAGE_COLUMNS
from accounting.usage.columns import Prepared
from accounting.usage.prepare_wire import prepare_wire
from accounting.usage.wire import Context

COMPARED = (
    "provider",
    "surface",
    "model",
    "response_model",
    "service_tier",
    "batch",
    "region",
    "usage_known",
    "cache_read_known",
    *USAGE_COLUMNS,
)
"""What a rule decides of an event; who made it and when is not read again."""
_FROM_ROW = (
    "event_id",
    "occurred_at",
    "first_token_at",
    "completed_at",
    "deployment",
    "replica",
    "requested_service_tier",
    "status",
    "purpose",
    "account_id",
    "user_id",
    "feature",
    "task_id",
    "trace_id",
    "retry_of",
    "tags",
    "reasoning_effort",
    "score",
)
_ROWS = text(
    "SELECT e.* FROM usage_events e WHERE tenant = :tenant AND occurred_at >= :start AND occurred_at < :end "
    "AND wire_format <> 'native' AND (CAST(:format AS text) IS NULL OR wire_format = :format) AND charge_status <> 'void' "
    "AND NOT EXISTS (SELECT FROM usage_events later WHERE later.tenant = e.tenant AND later.event_id = e.event_id "
    "AND later.revision > e.revision AND later.revision > 0) ORDER BY raw_batch, raw_index"
)
_BLOCK = text("SELECT body FROM raw_usage WHERE tenant = :tenant AND raw_batch = :raw_batch")
_NOT_KEPT = "evidence is no longer kept"


@dataclass(frozen=True)
class Change:
    """One event that its rule reads otherwise now. Attributes: fields: name -> (old, new); costs: plain decimals, None unpriced."""

    event_id: str
    fields: dict[str, tuple[Any, Any]]
    old_cost: str | None
    new_cost: str | None
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "event_id": self.event_id,
            "fields": {name: {"old": old, "new": new} for name, (old, new) in self.fields.items()},
            "old_cost": self.old_cost,
            "new_cost": self.new_cost,
            "problem": self.problem,
        }


def renormalise(
    engine: Engine,
    context: TenantContext,
    book: Books,
    start: datetime,
    end: datetime,
    *,
    apply: bool = False,
    wire_format: str | None = None,
) -> dict[str, Any]:
    """Reads the evidence of wire events in [start, end) again and says what would change; `apply` appends revisions.

    Doing it again after applying changes nothing. An event whose evidence is past its retention, or now contradicts itself, is
    listed with its problem and stays as it is.
    """
    asked = {"tenant": context.tenant, "start": start, "end": end, "format": wire_format}
    read, changes, applied = 0, [], 0
    with read_only(engine, context.tenant) as connection:
        rows = connection.execute(_ROWS, asked).all()
        for raw_batch, group in groupby(rows, key=lambda row: row.raw_batch):
            lines = _lines(connection, context, raw_batch)
            for row in group:
                read += 1
                found = _compare(row, lines, book, context)
                if found is not None:
                    changes.append(found)
    if apply:
        for change, staged, evidence in changes:
            if staged is not None:
                applied += _apply(engine, context, change.event_id, staged, evidence)
    return {"read": read, "changes": [change.to_json() for change, _, _ in changes], "applied": applied}


_Found = tuple[Change, pa.RecordBatch | None, list[bytes]]


def _lines(connection: Connection, context: TenantContext, raw_batch: int | None) -> list[bytes] | None:
    body = connection.execute(_BLOCK, {"tenant": context.tenant, "raw_batch": raw_batch}).scalar_one_or_none()
    return None if body is None else zstandard.ZstdDecompressor().decompress(body).split(b"\n")


def _compare(row: Row[Any], lines: list[bytes] | None, book: Books, context: TenantContext) -> _Found | None:
    old_cost = None if row.contracted_cost_e15 is None else format_minor(row.contracted_cost_e15)
    if lines is None:
        return Change(row.event_id, {}, old_cost, old_cost, _NOT_KEPT), None, []
    kept = msgspec.json.decode(lines[row.raw_index])
    prepared = _read_again(row, kept)
    place = next(_places(prepared, row.event_id), None)
    if place is None:
        return Change(row.event_id, {}, old_cost, old_cost, _problem(prepared)), None, []
    batch = prepared.batch.slice(place, 1)
    fields = {name: (getattr(row, name), batch[name][0].as_py()) for name in COMPARED}
    fields = {name: values for name, values in fields.items() if values[0] != values[1]}
    if not fields:
        return None
    staged, refused = first_charges(batch, book, context)
    if refused:
        return Change(row.event_id, fields, old_cost, None, refused[0][2]), None, []
    cost = staged["contracted_cost_e15"][0].as_py()
    change = Change(row.event_id, fields, old_cost, None if cost is None else format_minor(cost))
    return change, staged, [prepared.usage_bodies[place]]


def _read_again(row: Row[Any], kept: dict[str, Any]) -> Prepared:
    stated = {name: getattr(row, name) for name in _FROM_ROW if getattr(row, name) is not None}
    part = f"#{kept['part']}" if kept["part"] else ""
    stated["event_id"] = row.event_id.removesuffix(part)
    return prepare_wire(
        kept["format"], [(kept["body"], msgspec.convert(kept["context"] | stated, Context))], datetime.now(UTC)
    )


def _places(prepared: Prepared, event_id: str) -> Iterator[int]:
    return (place for place, name in enumerate(prepared.batch["event_id"].to_pylist()) if name == event_id)


def _problem(prepared: Prepared) -> str:
    for suspended in prepared.suspended:
        return f"{suspended.reason}: {suspended.detail}"
    for rejection in prepared.rejected:
        return f"{rejection.field}: {rejection.reason}"
    return "the rule no longer reads this call from the body"


def _apply(engine: Engine, context: TenantContext, event_id: str, staged: pa.RecordBatch, evidence: list[bytes]) -> int:
    with transaction(engine, context.tenant) as connection:
        latest = locked(connection, context, event_id)
        if latest.charge_status == "void" or latest.body_hash == staged["body_hash"][0].as_py():
            return 0
        replace(connection, context, latest, staged, evidence)
    return 1
