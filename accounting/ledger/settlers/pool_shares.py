"""What does each request of some pool hours owe? Attribution of the log, then the split of each hour's bill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from accounting.ledger.settlers.pool_cells import cells_of, replica_codes, stretches
from accounting.ledger.settlers.pool_log import Log
from accounting.ledger.settlers.pool_owed import WAITED, Owed, Unlogged, shares_of, unlogged_of, without_share
from accounting.ledger.settlers.pool_steps import Ledgered, ledgered
from accounting.money import LINES_A_MINOR
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN, Bools
from accounting.selfhosted.curve import Curve, StepCurve, best_batch
from accounting.selfhosted.forward import complete_times
from accounting.selfhosted.hour import Settled, settle_hour
from accounting.selfhosted.ledger_steps import attribute_steps
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.pool_settings import AMORTISED, FIRST_PAYS, Membership, PoolSettings
from accounting.selfhosted.rates import us
from accounting.selfhosted.reasons import CHARGED, NOT_BILLED, OUTSIDE, REASONS
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from accounting.storage.pool_steps import HourSteps

_TERMS = ("direct", "gap", "idle", "unallocated_gap", "unallocated_idle", "unproven")


@dataclass(frozen=True)
class Bill:
    """What one hour of a pool cost. Attributes: amount: whole 10^-18 of the currency."""

    amount: int
    currency: str

    @property
    def minor(self) -> int:
        """The part of it that requests can carry, whole 10^-15."""
        return self.amount // LINES_A_MINOR

    @property
    def rest(self) -> int:
        """The digits below that, 10^-18: they stay with the pool hour."""
        return self.amount % LINES_A_MINOR


@dataclass(frozen=True)
class HourOwed:
    """One pool hour.

    Attributes:
        requests: that came in or have a share in it. owed: of each of these.
        settled, found: None where no replica was there; index: of the hour in `found`.
        extrapolated: requests charged beyond the curve's measured range. fluid: a replica was not logged.
        unlogged: what only a step ledger knows of; None where the hour has none.
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
    unlogged: Unlogged | None = None

    @property
    def terms(self) -> dict[str, int]:
        """The terms of the bill and memos of them, whole 10^-18; without a replica all of it is idle and belongs to nobody."""
        settled, rest = self.settled, self.bill.rest
        if settled is None:
            whole = self.bill.amount
            return {**dict.fromkeys(_TERMS, 0), "idle": whole, "unallocated_idle": whole}
        found = {name: getattr(settled, name) * LINES_A_MINOR for name in _TERMS}
        # What the bill has below the scale of requests stays with the hour.
        return found | {name: found[name] + rest for name in ("idle", "unallocated_idle")}


def owed_for(
    hours: Sequence[datetime],
    bills: dict[datetime, Bill],
    settings: PoolSettings,
    curve: Curve,
    members: Sequence[Membership],
    log: Log,
    lacking: bool,
    steps: Sequence[HourSteps] = (),
) -> list[HourOwed]:
    """What the requests owe, hour by hour.

    Args:
        lacking: a time or a replica is not logged. steps: step ledgers. With either, one hour is asked for at a time.
    """
    codes = replica_codes(members)
    served = [hour for hour in hours if stretches(hour, members, codes, False)]
    requests, filled, found = log.requests, np.zeros(len(log.requests), np.bool_), None
    ledger = ledgered(steps, hours[0], log, codes) if steps else None
    if served:
        cells, engine = cells_of(served, members, codes, split=lacking), settings.engine()
        requests = requests if ledger is None else ledger.placed(requests)
        if lacking:
            requests, filled = complete_times(curve, engine, requests, np.unique(cells.replica))
        requests = _phase(requests, settings.role)
        if ledger is None:
            found = attribute(curve, engine, requests, cells, settings.policy, filled)
        else:
            requests, filled = ledger.joined(requests, filled)
            uses = ledger.uses if settings.prefix_policy == AMORTISED else None
            found = attribute_steps(
                curve, engine, requests, cells, ledger.steps, settings.policy, ledger.covered, filled, uses
            )
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
            ledger,
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
    ledger: Ledgered | None,
) -> HourOwed:
    begin, until = us(hour), us(hour) + HOUR_US
    own = [at for at, row in enumerate(log.rows) if begin <= row.occurred_at < until]
    if found is None:
        owed = [without_share(at, log.unusable.get(at, REASONS[NOT_BILLED])) for at in own]
        return HourOwed(hour, bill, settings, len(own), owed, None, None, index, None, 0, False)
    best = _best_batch(found, index, requests, settings, curve)
    settled = settle_hour(found, index, bill.minor, requests.request_id, best)
    settled.check()
    back = {place: at for at, place in enumerate(log.place.tolist())}
    owed = list(shares_of(settled, log))
    if settings.prefix_policy == AMORTISED:
        owed = [_prefixes(one, back[one.place], ledger) for one in owed]
    charged = {one.place for one in owed}
    refused = {int(log.place[row]) for row in found.refused_in(index).tolist() if row < len(log.place)}
    owed += [without_share(place, REASONS[OUTSIDE]) for place in sorted(refused)]
    charged |= refused
    billed = _billed(found, members, requests)
    for place in own:
        if place not in charged:
            owed.append(without_share(place, log.unusable.get(place) or _reason(found, billed, back[place])))
    rows = settled.lines.row
    beyond = int(np.unique(rows[settled.lines.extrapolated]).size)
    fluid = bool((requests.replica[rows] == UNKNOWN).any())
    unknown = None if ledger is None else unlogged_of(settled, log, ledger.names)
    count = len({*own, *charged})
    return HourOwed(hour, bill, settings, count, owed, settled, found, index, best, beyond, fluid, unknown)


def _prefixes(owed: Owed, at: int, ledger: Ledgered | None) -> Owed:
    """Says by which policy a request paid for shared prefixes: they are amortised where its replica's ledger names their blocks."""
    named = ledger is not None and bool(ledger.blocks_named[at])
    return replace(owed, details={**owed.details, "prefix_policy": AMORTISED if named else FIRST_PAYS})


def _best_batch(found: Attribution, index: int, requests: Requests, settings: PoolSettings, curve: Curve) -> int | None:
    """R* at the mean context of the hour's requests, never above what the engine holds; None for a table, whose steps are shared whole."""
    lines = found.lines_of(index)
    if not isinstance(curve, StepCurve) or not len(lines):
        return None
    context = int(np.rint(requests.context_tokens[np.unique(lines.row)].mean()))
    ttft, itl = (None if one is None else one / 1_000 for one in (settings.ttft_target_ms, settings.itl_target_ms))
    best = best_batch(curve, context, ttft, itl, settings.token_budget)
    return None if best is None else min(best, settings.max_batch)


def _billed(found: Attribution, members: Sequence[Membership], requests: Requests) -> Bools:
    """Which requests ran on a replica that was in the pool at their first token, whatever hours are asked for here."""
    codes = replica_codes(members)
    moment = np.where(requests.first_token_at == NO_TIME, requests.received_at, requests.first_token_at)
    inside: Bools = requests.replica == UNKNOWN
    for one in members:
        held = (requests.replica == codes[one.replica]) & (moment >= us(one.effective_from))
        inside = inside | (held if one.effective_until is None else held & (moment < us(one.effective_until)))
    return inside


def _reason(found: Attribution, billed: Bools, at: int) -> str:
    """Why a request has no share in its own hour."""
    reason = int(found.reason[at])
    if at in found.refused.row:
        return REASONS[OUTSIDE]
    if reason == CHARGED or (reason == NOT_BILLED and billed[at]):
        return WAITED
    return REASONS[reason]
