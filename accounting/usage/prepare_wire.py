"""How do wire bodies become the same checked columns as native events?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from accounting.usage.columns import Prepared, prepare_events
from accounting.usage.parse import Parsed, Rejection
from accounting.usage.read import WireRead, read
from accounting.usage.wire import Body, Context, Suspended


def prepare_wire(wire_format: str, pairs: Iterable[tuple[Body | list[Body], Context]], now: datetime) -> Prepared:
    """Reads and checks (body, context) pairs of one format. Raises InvalidInput for a format that no module has."""
    return prepare_read(read(wire_format, pairs), now)


def prepare_read(found: WireRead, now: datetime) -> Prepared:
    """Columns of the calls read; counts that contradict each other across fields are suspended with their numbers, not rejected."""
    parsed = Parsed(
        sent=len(found.booked) + len(found.rejected) + len(found.suspended) + found.aggregates,
        events=[booked.event for booked in found.booked],
        indexes=list(range(len(found.booked))),
        evidence=[booked.evidence for booked in found.booked],
    )
    prepared = prepare_events(parsed, now, found.wire_format)
    for rejection in prepared.rejected:
        booked = found.booked[rejection.index]
        if rejection.field.startswith("usage."):
            found.suspended.append(_suspended(found, rejection))
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


def _suspended(found: WireRead, rejection: Rejection) -> Suspended:
    booked = found.booked[rejection.index]
    return Suspended(
        booked.index,
        booked.event.event_id,
        "part_exceeds_whole",
        f"{rejection.field} {rejection.value} {rejection.reason}",
        found.wire_format,
        booked.context,
        booked.body,
    )
