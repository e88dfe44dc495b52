"""How do wire bodies become the same checked columns as native events?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from accounting.usage.calls import WireRead, suspend
from accounting.usage.columns import Prepared, prepare_events
from accounting.usage.items import AUTO, Pair, contexts, decoded, grouped
from accounting.usage.parse import Parsed, Rejection
from accounting.usage.read import read
from accounting.usage.wire import UsageContradiction


def prepare_wire(wire_format: str, pairs: Iterable[Pair], now: datetime) -> Prepared:
    """Reads and checks (body, context) pairs of one format. Raises InvalidInput for a format that no module has."""
    return prepare_read(read(wire_format, pairs), now)


def prepare_sent(
    wire_format: str, body: bytes, now: datetime, *, ndjson: bool = False, most: int | None = None
) -> list[Prepared]:
    """Reads and checks what a sender sent, one batch a format found in it; `wire_format` is one format or `auto`.

    Raises InvalidInput for a body that is no JSON or a format that no module has, TooLarge for more than `most` items.
    """
    pairs = contexts(decoded(body, ndjson=ndjson, most=most), wire_format)
    return [
        prepare_read(
            WireRead(AUTO, rejected=[context for _, context in group.pairs if isinstance(context, Rejection)]), now
        )
        if group.wire_format == AUTO
        else prepare_read(read(group.wire_format, group.pairs, group.indexes), now)
        for group in grouped(pairs, wire_format)
    ]


def prepare_read(found: WireRead, now: datetime) -> Prepared:
    """Columns of the calls read; counts that contradict each other across fields are suspended with their numbers, not rejected."""
    parsed = Parsed(
        sent=found.calls,
        events=[booked.event for booked in found.booked],
        indexes=list(range(len(found.booked))),
        evidence=[booked.evidence for booked in found.booked],
    )
    prepared = prepare_events(parsed, now, found.wire_format)
    for rejection in prepared.rejected:
        booked = found.booked[rejection.index]
        if rejection.field.startswith("usage."):
            assert booked.call is not None
            equation = f"{rejection.field} {rejection.value} {rejection.reason}"
            contradiction = UsageContradiction("part_exceeds_whole", equation, booked.call.usage_body)
            suspend(found, booked.index, booked.call, booked.context, booked.rule, contradiction)
        else:
            found.rejected.append(
                Rejection(booked.index, rejection.event_id, rejection.field, rejection.value, rejection.reason)
            )
    prepared.rejected = sorted(found.rejected, key=lambda rejection: rejection.index)
    prepared.suspended = found.suspended
    prepared.aggregates = found.aggregates
    prepared.findings = [
        (row, finding) for row, place in enumerate(prepared.indexes) for finding in found.booked[place].findings
    ]
    prepared.indexes = [found.booked[place].index for place in prepared.indexes]
    return prepared
