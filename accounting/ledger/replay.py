"""How does a contradiction get booked once its rule is mended? Its kept evidence is read again, and booked exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Engine, Row, text

from accounting.errors import InvalidInput, NotFound
from accounting.ledger.exceptions import resolve
from accounting.ledger.layers import Books
from accounting.pipeline import store
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext
from accounting.usage.calls import NOT_REPLAYABLE
from accounting.usage.prepare_wire import prepare_wire
from accounting.usage.wire import Context

_OPEN = text(
    "SELECT exception_id, event_id, format, context, usage_body, detail FROM exceptions "
    "WHERE tenant = :tenant AND kind = 'contradiction' AND resolved_at IS NULL "
    "AND (:every OR exception_id = ANY(:ids)) ORDER BY received_at, exception_id"
)


def replay(
    engine: Engine, context: TenantContext, book: Books, exception_ids: list[str] | None = None
) -> dict[str, Any]:
    """Reads open contradictions again (those of `exception_ids`, all when None); what no longer contradicts itself is booked.

    Event ids stay those of the exceptions, so a replay that was cut short, or runs twice at once, books nothing twice. Raises
    NotFound for an id that is no open contradiction.
    """
    rows = _open(engine, context, exception_ids)
    answer: dict[str, Any] = {"replayed": 0, "booked": 0, "still_open": []}
    for row in rows:
        answer["replayed"] += 1
        reason = _again(engine, context, book, row)
        if reason is None:
            answer["booked"] += 1
        else:
            answer["still_open"].append({"exception_id": row.exception_id, "event_id": row.event_id, "reason": reason})
    return answer


def _open(engine: Engine, context: TenantContext, exception_ids: list[str] | None) -> list[Row[Any]]:
    asked = {"tenant": context.tenant, "every": exception_ids is None, "ids": exception_ids or []}
    with read_only(engine, context.tenant) as connection:
        rows = list(connection.execute(_OPEN, asked))
    unknown = sorted(set(exception_ids or []) - {row.exception_id for row in rows})
    if unknown:
        raise NotFound(f"exception_id={unknown[0]!r}: no open contradiction")
    return rows


def _again(engine: Engine, context: TenantContext, book: Books, row: Row[Any]) -> str | None:
    """Books one contradiction; returns why it stays open, None when it was booked."""
    if row.detail.endswith(NOT_REPLAYABLE):
        return NOT_REPLAYABLE.strip(" ()")
    known = msgspec.convert(row.context | {"event_id": row.event_id}, Context)
    try:
        prepared = prepare_wire(row.format, [(msgspec.json.decode(row.usage_body), known)], datetime.now(UTC))
    except InvalidInput as error:
        return str(error)
    for fault in _faults(prepared.suspended, prepared.rejected):
        return fault
    result = store(engine, context, book, [prepared])[0]
    if result.conflicts or result.rejected:
        return "; ".join(str(found["reason"]) for found in [*result.conflicts, *result.rejected])
    resolve(engine, context, row.exception_id, "replayed")
    return None


def _faults(*lists: list[Any]) -> Iterator[str]:
    for found in lists:
        for one in found:
            yield f"{one.reason}: {one.detail}" if hasattr(one, "detail") else f"{one.field}: {one.reason}"
