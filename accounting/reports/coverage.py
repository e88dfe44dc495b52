"""How much of the usage do the amounts of a report stand on? Unknown cost is shown as coverage, never as 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from accounting.reports.exact import percent
from accounting.reports.query import ReportQuery
from accounting.reports.source import rollup
from accounting.reports.sums import measures
from accounting.tenant import TenantContext

STATUSES = ("priced", "unpriced", "pending_settlement")
USAGE_MISSING = "usage_missing"
"""Calls whose body carries no usage at all (a stream without it, a failed call): unpriced, and not by any price list's fault."""
EXCEPTED = "excepted"
"""Calls that contradict themselves and wait in the exceptions: in no total, their tokens unknown."""

_WITHIN = "tenant = :tenant AND bucket >= :since AND bucket < :until"
_EXCEPTED = text(
    "SELECT count(*) FROM exceptions WHERE tenant = :tenant AND kind = 'contradiction' AND resolved_at IS NULL "
    "AND coalesce(occurred_at, received_at) >= :since AND coalesce(occurred_at, received_at) < :until"
)
_MISSING = text(
    """
    SELECT count(*) FROM usage_events AS event
    WHERE tenant = :tenant AND NOT usage_known AND charge_status = 'unpriced' AND occurred_at >= :since AND occurred_at < :until
      AND NOT EXISTS (SELECT FROM usage_events AS later WHERE later.tenant = event.tenant AND later.event_id = event.event_id
                      AND later.revision > 0 AND later.revision > event.revision)
    """
)


@dataclass(frozen=True)
class Apart:
    """Calls of a period whose tokens nobody knows.

    Attributes:
        excepted: open contradictions, by the call's time, or by that of receipt where the body states none.
        usage_missing: unpriced calls without usage; among the unpriced of the rollups, which can't tell them apart.
    """

    excepted: int = 0
    usage_missing: int = 0


def set_apart(connection: Connection, context: TenantContext, since: datetime, until: datetime) -> Apart:
    """Counts them for [since, until)."""
    asked = {"tenant": context.tenant, "since": since, "until": until}
    return Apart(*(int(connection.execute(query, asked).scalar_one()) for query in (_EXCEPTED, _MISSING)))


def read_coverage(connection: Connection, context: TenantContext, query: ReportQuery) -> list[dict[str, Any]]:
    """The same for a report that has no sums by status of its own, from the rollups."""
    sql = f"SELECT charge_status, {measures(())} FROM {rollup(query, context)} WHERE {_WITHIN} GROUP BY 1"
    asked = {"tenant": context.tenant, "since": query.since, "until": query.until}
    rows = connection.execute(text(sql), asked).all()
    return coverage(rows, set_apart(connection, context, query.since, query.until))


def coverage(sums: Iterable[Any], apart: Apart) -> list[dict[str, Any]]:
    """One row a status, all five always.

    Args:
        sums: rows with charge_status, events, input_tokens (cache reads and writes included) and output_tokens.
        apart: calls of the period without tokens.

    Each row: status, events, input_tokens, output_tokens, tokens, event_share and token_share (percent of all statuses, 4
    decimals; None where there is nothing to share). `unpriced` leaves out what stands in `usage_missing`. Tokens of the last two
    are None: nobody stated them, or their counts can't all be true.
    """
    found = {status: dict.fromkeys(("events", "input_tokens", "output_tokens"), 0) for status in STATUSES}
    for row in sums:
        for name, value in found[row.charge_status].items():
            found[row.charge_status][name] = value + int(getattr(row, name))
    events = apart.excepted + sum(counts["events"] for counts in found.values())
    tokens = sum(counts["input_tokens"] + counts["output_tokens"] for counts in found.values())
    found["unpriced"]["events"] -= apart.usage_missing
    return [
        *(_row(status, counts, events, tokens) for status, counts in found.items()),
        _unknown(USAGE_MISSING, apart.usage_missing, events),
        _unknown(EXCEPTED, apart.excepted, events),
    ]


def _unknown(status: str, own: int, events: int) -> dict[str, Any]:
    unknown = dict.fromkeys(("input_tokens", "output_tokens", "tokens"))
    return {"status": status, "events": own, **unknown, "event_share": percent(own, events), "token_share": None}


def _row(status: str, counts: Mapping[str, int], events: int, tokens: int) -> dict[str, Any]:
    own = counts["input_tokens"] + counts["output_tokens"]
    shares = {"event_share": percent(counts["events"], events), "token_share": percent(own, tokens)}
    return {"status": status, **counts, "tokens": own, **shares}
