"""How much of the usage do the amounts of a report stand on? Unknown cost is shown as coverage, never as 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from accounting.reports.exact import percent
from accounting.tenant import TenantContext

STATUSES = ("priced", "unpriced", "pending_settlement")
EXCEPTED = "excepted"
"""Calls that contradict themselves and wait in the exceptions: in no total, their tokens unknown."""

_EXCEPTED = text(
    "SELECT count(*) FROM exceptions WHERE tenant = :tenant AND kind = 'contradiction' AND resolved_at IS NULL "
    "AND coalesce(occurred_at, received_at) >= :since AND coalesce(occurred_at, received_at) < :until"
)


def excepted(connection: Connection, context: TenantContext, since: datetime, until: datetime) -> int:
    """Open contradictions of [since, until), by the call's time, or by that of receipt where the body states none."""
    asked = {"tenant": context.tenant, "since": since, "until": until}
    return int(connection.execute(_EXCEPTED, asked).scalar_one())


def coverage(sums: Iterable[Any], excepted: int) -> list[dict[str, Any]]:
    """One row a status, all four always.

    Args:
        sums: rows with charge_status, events, input_tokens (cache reads and writes included) and output_tokens.
        excepted: open contradictions of the period.

    Each row: status, events, input_tokens, output_tokens, tokens, event_share and token_share (percent of all statuses, 4
    decimals; None where there is nothing to share). Tokens of contradictions are None: their counts can't all be true.
    """
    found = {status: dict.fromkeys(("events", "input_tokens", "output_tokens"), 0) for status in STATUSES}
    for row in sums:
        for name, value in found[row.charge_status].items():
            found[row.charge_status][name] = value + int(getattr(row, name))
    events = excepted + sum(counts["events"] for counts in found.values())
    tokens = sum(counts["input_tokens"] + counts["output_tokens"] for counts in found.values())
    unknown = dict.fromkeys(("input_tokens", "output_tokens", "tokens"))
    share = {"event_share": percent(excepted, events), "token_share": None}
    last = {"status": EXCEPTED, "events": excepted, **unknown, **share}
    return [*(_row(status, counts, events, tokens) for status, counts in found.items()), last]


def _row(status: str, counts: Mapping[str, int], events: int, tokens: int) -> dict[str, Any]:
    own = counts["input_tokens"] + counts["output_tokens"]
    shares = {"event_share": percent(counts["events"], events), "token_share": percent(own, tokens)}
    return {"status": status, **counts, "tokens": own, **shares}
