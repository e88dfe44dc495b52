"""Which ledger lines bring the requests of a pool hour from what is booked to what they owe?

Every settlement works out the whole of an hour, and appends the difference to what it appended before: events may come in any order.
An event that stays priced gets one line, the difference; one whose status changes is taken back and stated anew, so that its tokens move
to the coverage they belong to. In a closed month only events without a line get one, against the gap, in the open month; what its bill
changed by is the hour's own (pool_hour_lines.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.open_month import Month
from accounting.ledger.settlers.pool_booked import BASES, BASIS, NOTHING, Amounts, Booked, amounts_of, minus
from accounting.ledger.settlers.pool_cells import HOUR
from accounting.ledger.settlers.pool_log import IDENTITY, Log
from accounting.ledger.settlers.pool_owed import Owed
from accounting.ledger.settlers.pool_shares import HourOwed
from accounting.money import LINES_A_MINOR, format_minor, from_line, to_line

SELLER = "self-hosted"
_COUNTS = ("uncached_input_tokens", "cache_read_tokens", "cache_write_tokens")


def subject_of(pool: str, hour: datetime) -> str:
    """The subject of a pool hour's own lines."""
    return f"{pool}@{hour:%Y-%m-%dT%H}"


def event_lines(one: HourOwed, log: Log, booked: Booked, month: Month) -> Iterator[NewCharge]:
    """Lines of the requests of an hour, in the order of their ids."""
    pool = one.settings.pool_id
    wanted: set[tuple[str, int, datetime]] = set()
    for owed in sorted(one.owed, key=lambda owed: owed.place):
        row = log.rows[owed.place]
        key = (row.event_id, row.revision, one.hour)
        wanted.add(key)
        rows = booked.events.get(key, [])
        if month.closed and rows:
            continue
        own = row.deployment == pool and _came_in(row, one)
        if own and (row.event_id, row.revision) not in booked.reversed:
            yield _undo_first(row)
        yield from _event(one, owed, row, rows, own, month)
    if month.closed:
        return
    for key in sorted(set(booked.events) - wanted):
        if key[2] == one.hour:
            yield from _take_back(booked.events[key], pool, one, month)


def sum_of(lines: Iterable[NewCharge]) -> Amounts:
    """What lines of one currency add up to, whole 10^-18."""
    priced = [line for line in lines if line.effective_cost is not None]
    sums = [sum(to_line(getattr(line, name), name) for line in priced) for name in BASES]
    return sums[0], sums[1], sums[2]


def _event(one: HourOwed, owed: Owed, row: Any, booked: list[Any], own: bool, month: Month) -> Iterator[NewCharge]:
    """The lines of one event; `booked`: what it has already."""
    standing = [line for line in booked if _stands(line)]
    amounts = _owed_amounts(owed)
    number = sum(line.lines for line in booked) + 1
    newest = max(booked, key=lambda line: line.charge_id, default=None)
    last = None if newest is None else newest.charge_id
    state = (owed.status, one.bill.currency)
    if len(standing) == 1 and (standing[0].charge_status, standing[0].billing_currency) == state:
        before = amounts_of(standing[0])
        if (amounts or NOTHING) != before or standing[0].reason != owed.reason:
            difference = None if amounts is None else minus(amounts, before)
            line = _event_line(one, owed, row, difference, False, number, month)
            yield replace(line, class_="Correction", supersedes=last)
    elif standing or own or newest is None or _is_news(newest, owed, amounts):
        back = list(_take_back(booked, one.settings.pool_id, one, month))
        yield from back
        line = _event_line(one, owed, row, amounts, own, number + len(back), month)
        yield line if last is None else replace(line, class_="Correction", supersedes=last)


def _is_news(newest: Any, owed: Owed, amounts: Amounts | None) -> bool:
    """Of an event that nothing stands of: without a cost, only another reason is news."""
    if amounts is None:
        return (newest.charge_status, newest.reason) != (owed.status, owed.reason)
    return amounts != NOTHING


def _stands(line: Any) -> bool:
    return amounts_of(line) != NOTHING or bool(line.events)


def _came_in(row: Any, one: HourOwed) -> bool:
    """Whether it is the hour that the event came in: there its tokens stand, once, with the pool that it names as its deployment."""
    at: datetime = row.at
    return one.hour <= at < one.hour + HOUR


def _owed_amounts(owed: Owed) -> Amounts | None:
    if owed.direct is None or owed.gap is None or owed.idle is None:
        return None
    attributed = owed.direct + owed.gap
    return attributed * LINES_A_MINOR, owed.direct * LINES_A_MINOR, (attributed + owed.idle) * LINES_A_MINOR


def costs_of(amounts: Amounts | None) -> dict[str, Any]:
    """Cost columns; there is no list price of an own machine."""
    if amounts is None:
        return {}
    attributed, direct, loaded = (from_line(value) for value in amounts)
    named = dict.fromkeys(("contracted_cost", "effective_cost", "billed_cost"), attributed)
    return {**named, "direct_cost": direct, "fully_loaded_cost": loaded}


def _quarter(moment: datetime) -> datetime:
    return moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)


def _tokens(row: Any, sign: int) -> dict[str, Any]:
    found = {name: sign * getattr(row, name) for name in _COUNTS}
    return {"events": sign, **found, "output_tokens": sign * row.output}


def _event_line(
    one: HourOwed, owed: Owed, row: Any, amounts: Amounts | None, own: bool, number: int, month: Month
) -> NewCharge:
    details = {"hour": f"{one.hour:%Y-%m-%dT%H:%MZ}", "curve_id": one.settings.curve_id, **owed.details}
    if owed.direct is not None and owed.gap is not None and owed.idle is not None:
        details |= {"direct_cost": format_minor(owed.direct), "gap_cost": format_minor(owed.gap)}
        details |= {"idle_cost": format_minor(owed.idle)}
    return NewCharge(
        charge_id=_id(row.event_id, row.revision, one.settings.pool_id, one.hour, number),
        subject_kind="event",
        subject_id=row.event_id,
        subject_revision=row.revision,
        charge_period_start=_quarter(row.at) if _came_in(row, one) else one.hour,
        booking_period=month.period,
        category="Usage",
        charge_status=owed.status,
        seller=SELLER,
        billing_currency=one.bill.currency,
        basis=BASIS,
        policy=one.settings.policy,
        quality=owed.quality,
        reason=owed.reason,
        deployment=one.settings.pool_id,
        details=details,
        **{name: getattr(row, name) for name in IDENTITY},
        **(_tokens(row, 1) if own else {}),
        **costs_of(amounts),
    )


def _take_back(booked: list[Any], pool: str, one: HourOwed, month: Month) -> Iterator[NewCharge]:
    """Undoes what stands for an event, a line a currency."""
    number = sum(line.lines for line in booked)
    for line in filter(_stands, booked):
        number += 1
        priced = line.charge_status == "priced"
        tokens: dict[str, Any] = {name: -getattr(line, name) for name in ("events", *_COUNTS, "output_tokens")}
        yield NewCharge(
            charge_id=_id(line.subject_id, line.subject_revision, pool, line.hour, number),
            subject_kind="event",
            subject_id=line.subject_id,
            subject_revision=line.subject_revision,
            charge_period_start=line.period,
            booking_period=month.period,
            category="Usage",
            class_="Correction",
            supersedes=line.charge_id,
            charge_status=line.charge_status,
            seller=SELLER,
            billing_currency=line.billing_currency,
            basis=BASIS,
            policy=one.settings.policy,
            reason="settled anew",
            deployment=pool,
            **{name: getattr(line, name) for name in IDENTITY},
            **tokens,
            **costs_of(minus(NOTHING, amounts_of(line)) if priced else None),
        )


def _id(event_id: str, revision: int, pool: str, hour: datetime, number: int) -> str:
    """Ids of an event's lines for an hour sort in the order in which they were made."""
    return f"{event_id}:{revision}@{subject_of(pool, hour)}/{number:04d}"


def _undo_first(row: Any) -> NewCharge:
    """Takes back the line an event got when it came in, so that its tokens are no longer pending."""
    return NewCharge(
        charge_id=f"{row.event_id}:{row.revision}/reversal",
        subject_kind="event",
        subject_id=row.event_id,
        subject_revision=row.revision,
        charge_period_start=_quarter(row.at),
        booking_period=row.booking_period,
        category="Usage",
        supersedes=f"{row.event_id}:{row.revision}",
        charge_status=row.charge_status,
        seller=row.seller,
        billing_currency=row.billing_currency,
        basis="reversal",
        reason="settled",
        deployment=row.deployment,
        **{name: getattr(row, name) for name in IDENTITY},
        **_tokens(row, -1),
    )
