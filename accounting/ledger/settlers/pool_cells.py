"""Which stretches of which replicas does the bill of an hour pay for?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from accounting.selfhosted.pool import Cells
from accounting.selfhosted.pool_settings import Membership
from accounting.selfhosted.rates import us

HOUR = timedelta(hours=1)


def replica_codes(members: Sequence[Membership]) -> dict[str, int]:
    """A code for each replica, in order of names."""
    return {name: code for code, name in enumerate(sorted({one.replica for one in members}))}


def stretches(
    hour: datetime, members: Sequence[Membership], codes: dict[str, int], split: bool
) -> list[tuple[int, datetime, datetime]]:
    """(replica, from, until) within an hour; `split`: cut wherever any replica came or went, so that all begin and end together."""
    until = hour + HOUR
    found = [
        (
            codes[one.replica],
            max(one.effective_from, hour),
            until if one.effective_until is None else min(one.effective_until, until),
        )
        for one in members
    ]
    found = [one for one in found if one[1] < one[2]]
    if not split:
        return found
    edges = sorted({moment for _, low, high in found for moment in (low, high)})
    return [(code, one, two) for code, low, high in found for one, two in pairwise(edges) if low <= one and two <= high]


def cells_of(hours: Sequence[datetime], members: Sequence[Membership], codes: dict[str, int], split: bool) -> Cells:
    rows = sorted(
        (code, us(low), us(high), at)
        for at, hour in enumerate(hours)
        for code, low, high in stretches(hour, members, codes, split)
    )
    replica, start, end, hour_of = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Cells(hour_of, replica, start, end, np.ones(len(rows), np.int64))


def capacity_us(hour: datetime, members: Sequence[Membership]) -> int:
    """Replica-microseconds of an hour that members were there."""
    found = stretches(hour, members, replica_codes(members), False)
    return sum(us(high) - us(low) for _, low, high in found)
