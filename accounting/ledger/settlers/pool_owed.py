"""What does one request owe for one pool hour, and what was that worked out from?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from accounting.ledger.settlers.pool_log import Log
from accounting.selfhosted.hour import Settled, total_of
from accounting.selfhosted.reasons import NO_EVIDENCE, QUALITIES, REASONS

WAITED = "no_steps_in_this_hour"
"""It waited, or its steps lie in other hours or in another pool: what precedes them costs nothing."""
FREE = (WAITED, REASONS[NO_EVIDENCE])
"""Reasons of a cost that is known to be 0."""


@dataclass(frozen=True)
class Owed:
    """What one request owes for one pool hour.

    Attributes:
        place: in the log's rows.
        status: priced or unpriced; reason: why it is unpriced, or has no share though priced.
        direct, gap, idle: whole 10^-15; None where unpriced.
        details: of the derivation.
    """

    place: int
    status: str
    reason: str | None
    quality: str | None
    direct: int | None
    gap: int | None
    idle: int | None
    details: dict[str, Any]


def shares_of(settled: Settled, log: Log) -> list[Owed]:
    """The lines of an hour, a request each; a replica that left and came back makes several."""
    lines = settled.lines
    columns = {name: column.tolist() for name, column in _columns(settled).items()}
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(lines.row.tolist()):
        groups[row].append(at)
    places, beyond = log.place.tolist(), lines.extrapolated.tolist()
    return [
        _share({name: sum(column[at] for at in ats) for name, column in columns.items()}, places[row],
               any(beyond[at] for at in ats), QUALITIES[max(int(lines.quality[at]) for at in ats)])
        for row, ats in groups.items()
        if row < len(places)
    ]  # fmt: skip


@dataclass(frozen=True)
class Unlogged:
    """What requests used that a step ledger names and no event is of.

    Attributes:
        names: as the ledger has them. seconds: their shares.
        direct, gap, idle: whole 10^-15.
    """

    names: tuple[str, ...]
    seconds: float
    direct: int
    gap: int
    idle: int


def unlogged_of(settled: Settled, log: Log, names: tuple[str, ...]) -> Unlogged:
    """The shares of the requests that follow the log's own."""
    lines = settled.lines
    at = np.flatnonzero(lines.row >= len(log.place))
    costs = (total_of(column[at]) for column in (settled.direct_cost, settled.gap_cost, settled.idle_cost))
    return Unlogged(names, float(lines.seconds[at].sum()), *costs)


def _columns(settled: Settled) -> dict[str, Any]:
    """What of a request's lines adds up."""
    lines, underfill = settled.lines, settled.underfill_seconds
    columns = {
        "direct": settled.direct_cost,
        "gap": settled.gap_cost,
        "idle": settled.idle_cost,
        "share_seconds": lines.seconds,
        "own_prefill_seconds": lines.own_prefill,
        "own_decode_seconds": lines.own_decode,
        "shared_seconds": lines.shared,
        "expert_seconds": lines.experts,
        "prefill_seconds": lines.prefill_seconds,
        "decode_seconds": lines.seconds - lines.prefill_seconds,
        "steps": lines.request_steps,
        "step_shares": lines.step_shares,
        "held": lines.kv_share * lines.request_steps,
    }
    return columns if underfill is None else columns | {"underfill_seconds": underfill}


def _share(sums: dict[str, Any], place: int, beyond: bool, quality: str) -> Owed:
    steps, shares, held = sums["steps"], sums.pop("step_shares"), sums.pop("held")
    direct, gap, idle = (int(sums.pop(name)) for name in ("direct", "gap", "idle"))
    memos = {"mean_batch": steps / shares, "kv_share": held / steps, "beyond_measured_range": beyond}
    return Owed(place, "priced", None, quality, direct, gap, idle, {"underfill_seconds": None, **sums, **memos})


def without_share(place: int, reason: str) -> Owed:
    free = reason in FREE
    cost = 0 if free else None
    return Owed(place, "priced" if free else "unpriced", reason, None, cost, cost, cost, {})
