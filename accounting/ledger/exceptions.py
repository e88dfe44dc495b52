"""What should a person look at? Contradictions, conflicts and findings, kept with their evidence until they are resolved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from sqlalchemy import Engine, text

from accounting.errors import InvalidInput, NotFound
from accounting.storage.engine import read_only, transaction
from accounting.tenant import TenantContext

KINDS = ("conflict", "contradiction", "finding")


@dataclass(frozen=True)
class ExceptionRow:
    """One thing to look at.

    Attributes:
        kind: conflict, contradiction or finding.
        context, usage_body: JSON texts; what a replay reads, and what an auditor sees.
    """

    kind: str
    event_id: str
    format: str
    reason: str
    detail: str
    usage_body: str
    context: str = "{}"
    occurred_at: datetime | None = None

    @property
    def exception_id(self) -> str:
        """Of the content, so that what is reported twice is kept once."""
        content = "\x1f".join((self.kind, self.event_id, self.format, self.reason, self.usage_body))
        return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()


_ADD = (
    "INSERT INTO exceptions (tenant, exception_id, kind, event_id, format, reason, detail, context, usage_body, occurred_at) "
    "VALUES (%(tenant)s, %(exception_id)s, %(kind)s, %(event_id)s, %(format)s, %(reason)s, %(detail)s, %(context)s::jsonb, "
    "%(usage_body)s, %(occurred_at)s) ON CONFLICT DO NOTHING"
)


def add(connection: psycopg.Connection[Any], tenant: str, rows: Iterable[ExceptionRow]) -> None:
    """Appends rows in the open transaction; one that is there already stays as it is."""
    named = {row.exception_id: row for row in rows}
    for exception_id, row in sorted(named.items()):
        connection.execute(_ADD, {"tenant": tenant, "exception_id": exception_id, **vars(row)})


_LIST = text(
    "SELECT exception_id, kind, event_id, format, reason, detail, usage_body, occurred_at, received_at, resolved_at, resolution "
    "FROM exceptions WHERE tenant = :tenant AND (CAST(:kind AS text) IS NULL OR kind = :kind) "
    "AND (CAST(:reason AS text) IS NULL OR reason = :reason) "
    "AND (NOT :open OR resolved_at IS NULL) ORDER BY received_at, exception_id LIMIT :limit"
)
_COUNT = text(
    "SELECT kind, reason, count(*) AS exceptions, count(*) FILTER (WHERE resolved_at IS NULL) AS open FROM exceptions "
    "WHERE tenant = :tenant GROUP BY 1, 2 ORDER BY 1, 2"
)


def listed(
    engine: Engine,
    context: TenantContext,
    *,
    kind: str | None = None,
    reason: str | None = None,
    open_only: bool = True,
    limit: int = 1000,
) -> dict[str, Any]:
    """Exceptions, oldest first, and their counts by kind and reason. Raises InvalidInput for an unknown kind or a bad limit."""
    if kind is not None and kind not in KINDS:
        raise InvalidInput("kind", kind, f"must be one of {', '.join(KINDS)}")
    if not 0 < limit <= 10_000:
        raise InvalidInput("limit", limit, "must be from 1 to 10,000")
    with read_only(engine, context.tenant) as connection:
        asked = {"tenant": context.tenant, "kind": kind, "reason": reason, "open": open_only, "limit": limit}
        rows = [dict(row._mapping) for row in connection.execute(_LIST, asked)]
        counts = [dict(row._mapping) for row in connection.execute(_COUNT, {"tenant": context.tenant})]
    for row in rows:
        for name in ("occurred_at", "received_at", "resolved_at"):
            row[name] = None if row[name] is None else row[name].isoformat().replace("+00:00", "Z")
    return {"exceptions": rows, "counts": counts}


_RESOLVE = text(
    "UPDATE exceptions SET resolved_at = now(), resolution = :resolution "
    "WHERE tenant = :tenant AND exception_id = :exception_id AND resolved_at IS NULL"
)
_KNOWN = text("SELECT resolution FROM exceptions WHERE tenant = :tenant AND exception_id = :exception_id")


def resolve(engine: Engine, context: TenantContext, exception_id: str, resolution: str) -> None:
    """Closes an open exception; a closed one stays as it is."""
    with transaction(engine, context.tenant) as connection:
        known = {"tenant": context.tenant, "exception_id": exception_id, "resolution": resolution}
        connection.execute(_RESOLVE, known)


def dismiss(engine: Engine, context: TenantContext, exception_id: str) -> dict[str, Any]:
    """Marks an exception as looked at, without booking anything. Raises NotFound. Doing it again changes nothing."""
    known = {"tenant": context.tenant, "exception_id": exception_id}
    with transaction(engine, context.tenant) as connection:
        if connection.execute(_KNOWN, known).one_or_none() is None:
            raise NotFound(f"exception_id={exception_id!r}: no such exception")
        connection.execute(_RESOLVE, known | {"resolution": "dismissed"})
        resolution = connection.execute(_KNOWN, known).scalar_one()
    return {"exception_id": exception_id, "resolution": resolution}
