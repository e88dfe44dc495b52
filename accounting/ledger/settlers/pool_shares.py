"""What does each request of some pool hours owe? Attribution of the log, then the split of each hour's bill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from accounting.ledger.settlers.pool_log import Log
from accounting.money import LINE_SCALE, MINOR_SCALE
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools
from accounting.selfhosted.curve import Curve, StepCurve, best_batch
from accounting.selfhosted.forward import complete_times
from accounting.selfhosted.hour import Settled, settle_hour
from accounting.selfhosted.pool import HOUR_US, Cells
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.selfhosted.reasons import CHARGED, NO_EVIDENCE, NOT_BILLED, QUALITIES, REASONS
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute

HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_REST: int = 10 ** (LINE_SCALE - MINOR_SCALE)


@dataclass(frozen=True)
class Bill:
    """What one hour of a pool cost. Attributes: amount: whole 10^-18 of the currency."""

    amount: int
    currency: str

    @property
    def minor(self) -> int:
        """The part of it that requests can carry, whole 10^-15."""
        return self.amount // _REST

    @property
    def rest(self) -> int:
        """The digits below that, 10^-18: they stay with the pool hour."""
        return self.amount % _REST


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


@dataclass(frozen=True)
class HourOwed:
    """One pool hour.

    Attributes:
        requests: that came in or have a share in it. owed: of each of these.
        settled, found: None where no replica was there; index: of the hour in `found`.
        extrapolated: requests charged beyond the curve's measured range. fluid: a replica was not logged.
    """

    hour: datetime
    bill: Bill
    settings: PoolSettings
    requests: int
    owed: list[Owed]
    settled: Settled | None
    found: Attribution | None
    index: int
    best_batch: int | None
    extrapolated: int
    fluid: bool


def replica_codes(members: Sequence[Membership]) -> dict[str, int]:
    """A code for each replica, in order of names."""
    return {name: code for code, name in enumerate(sorted({one.replica for one in members}))}


def owed_for(
    hours: Sequence[datetime],
    bills: dict[datetime, Bill],
    settings: PoolSettings,
    curve: Curve,
    members: Sequence[Membership],
    log: Log,
    lacking: bool,
) -> list[HourOwed]:
    """What the requests owe, hour by hour; `lacking`: a time or a replica is not logged (then one hour is asked for at a time)."""
    codes = replica_codes(members)
    served = [hour for hour in hours if _stretches(hour, members, codes, False)]
    requests, filled, found = log.requests, np.zeros(len(log.requests), np.bool_), None
    if served:
        cells = _cells(served, members, codes, split=lacking)
        if lacking:
            requests, filled = complete_times(curve, settings.engine(), requests, int(cells.replicas.sum()))
        requests = _phase(requests, settings.role)
        found = attribute(curve, settings.engine(), requests, cells, settings.policy, filled)
    index = {hour: at for at, hour in enumerate(served)}
    return [
        _hour(
            hour,
            bills[hour],
            settings,
            curve,
            members,
            log,
            requests,
            found if hour in index else None,
            index.get(hour, 0),
        )
        for hour in hours
    ]


def _phase(requests: Requests, role: str) -> Requests:
    """Of a disaggregated request, what happened here: prompts are over at the first token, decodes begin with it."""
    first = requests.first_token_at
    known = first != NO_TIME
    if role == "prefill":
        return replace(requests, completed_at=np.where(known, first, requests.completed_at))
    if role == "decode":
        started = np.where(known, NO_TIME, requests.prefill_started_at)
        return replace(requests, received_at=np.where(known, first, requests.received_at), prefill_started_at=started)
    return requests


def _stretches(
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


def _cells(hours: Sequence[datetime], members: Sequence[Membership], codes: dict[str, int], split: bool) -> Cells:
    rows = sorted(
        (code, _micros(low), _micros(high), at)
        for at, hour in enumerate(hours)
        for code, low, high in _stretches(hour, members, codes, split)
    )
    replica, start, end, hour_of = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Cells(hour_of, replica, start, end, np.ones(len(rows), np.int64))


def capacity_us(hour: datetime, members: Sequence[Membership]) -> int:
    """Replica-microseconds of an hour that members were there."""
    found = _stretches(hour, members, replica_codes(members), False)
    return sum(_micros(high) - _micros(low) for _, low, high in found)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _hour(
    hour: datetime,
    bill: Bill,
    settings: PoolSettings,
    curve: Curve,
    members: Sequence[Membership],
    log: Log,
    requests: Requests,
    found: Attribution | None,
    index: int,
) -> HourOwed:
    begin, until = _micros(hour), _micros(hour) + HOUR_US
    own = [at for at, row in enumerate(log.rows) if begin <= row.occurred_at < until]
    if found is None:
        owed = [_without_share(at, log.unusable.get(at, REASONS[NOT_BILLED])) for at in own]
        return HourOwed(hour, bill, settings, len(own), owed, None, None, index, None, 0, False)
    best = _best_batch(found, index, requests, settings, curve)
    settled = settle_hour(found, index, bill.minor, requests.request_id, best)
    settled.check()
    owed = list(_shares(settled, log, found))
    charged = {one.place for one in owed}
    back = {place: at for at, place in enumerate(log.place.tolist())}
    billed = _billed(found, members, requests)
    for place in own:
        if place not in charged:
            owed.append(_without_share(place, log.unusable.get(place) or _reason(found, billed, back[place])))
    rows = settled.lines.row
    beyond = int(np.unique(rows[found.extrapolated[rows]]).size)
    fluid = bool((requests.replica[rows] == UNKNOWN).any())
    return HourOwed(hour, bill, settings, len({*own, *charged}), owed, settled, found, index, best, beyond, fluid)


def _best_batch(found: Attribution, index: int, requests: Requests, settings: PoolSettings, curve: Curve) -> int | None:
    """R* at the mean context of the hour's requests, never above what the engine holds; None for a table, whose steps are shared whole."""
    lines = found.lines_of(index)
    if not isinstance(curve, StepCurve) or not len(lines):
        return None
    context = int(np.rint(requests.context_tokens[np.unique(lines.row)].mean()))
    ttft, itl = (None if one is None else one / 1_000 for one in (settings.ttft_target_ms, settings.itl_target_ms))
    best = best_batch(curve, context, ttft, itl, settings.token_budget)
    return None if best is None else min(best, settings.max_batch)


def _shares(settled: Settled, log: Log, found: Attribution) -> list[Owed]:
    """The lines of an hour, a request each; a replica that left and came back makes several."""
    lines = settled.lines
    rows = lines.row.tolist()
    columns = {name: column.tolist() for name, column in _columns(settled).items()}
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        groups[row].append(at)
    places, beyond = log.place.tolist(), found.extrapolated.tolist()
    return [
        _share({name: sum(column[at] for at in ats) for name, column in columns.items()}, places[row], beyond[row],
               QUALITIES[max(int(lines.quality[at]) for at in ats)])
        for row, ats in groups.items()
    ]  # fmt: skip


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


def _billed(found: Attribution, members: Sequence[Membership], requests: Requests) -> Bools:
    """Which requests ran on a replica that was in the pool at their first token, whatever hours are asked for here."""
    codes = replica_codes(members)
    moment = np.where(requests.first_token_at == NO_TIME, requests.received_at, requests.first_token_at)
    inside: Bools = requests.replica == UNKNOWN
    for one in members:
        held = (requests.replica == codes[one.replica]) & (moment >= _micros(one.effective_from))
        inside = inside | (held if one.effective_until is None else held & (moment < _micros(one.effective_until)))
    return inside


def _reason(found: Attribution, billed: Bools, at: int) -> str:
    """Why a request has no share in its own hour."""
    reason = int(found.reason[at])
    if reason == CHARGED or (reason == NOT_BILLED and billed[at]):
        return WAITED
    return REASONS[reason]


WAITED = "no_steps_in_this_hour"
"""It waited, or its steps lie in other hours or in another pool: what precedes them costs nothing."""
FREE = (WAITED, REASONS[NO_EVIDENCE])
"""Reasons of a cost that is known to be 0."""


def _without_share(place: int, reason: str) -> Owed:
    free = reason in FREE
    cost = 0 if free else None
    return Owed(place, "priced" if free else "unpriced", reason, None, cost, cost, cost, {})
