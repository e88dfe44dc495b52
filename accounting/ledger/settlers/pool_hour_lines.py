"""Which ledger lines are a pool hour's own: what its bill has beside the requests' charges?

    basis          | requests     | gap line    | idle line
    attributed     | direct + gap | 0           | idle
    direct         | direct       | gap         | idle
    fully loaded   | all three    | 0           | 0

Requests that only a step ledger knows are a line of the hour, `unlogged`, with the amounts that requests have.
Each row adds up to the bill. An hour without shares keeps gap and idle in every basis: they are unallocated. Underfill is a part of the
shares, so its line is a memo: 0, with the amount in its details.

In a closed month the requests keep what they have. What late events get is taken from the gap, and what the bill changed by since it was
booked is added to idle in every basis, all in the open month; of a bill in another currency the whole, and what was booked is taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from typing import Any

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.open_month import Month
from accounting.ledger.settlers.pool_booked import BASIS, NOTHING, Amounts, Booked, minus, plus
from accounting.ledger.settlers.pool_lines import SELLER, costs_of, subject_of
from accounting.ledger.settlers.pool_shares import HourOwed
from accounting.money import LINES_A_MINOR, format_minor

GAP, IDLE, UNDERFILL, UNLOGGED = "gap", "idle", "underfill", "unlogged"
PURPOSES = {GAP: "pool_gap", IDLE: "pool_idle", UNDERFILL: "pool_gap", UNLOGGED: "pool_gap"}
_NAMES = 20
"""Of unlogged requests, so many are named in the line."""


def hour_lines(one: HourOwed, booked: Booked, month: Month, late: Amounts) -> Iterator[NewCharge]:
    """Lines of the hour itself: gap, idle, underfill. `late`: in a closed month, what its late events took from the gap."""
    subject = subject_of(one.settings.pool_id, one.hour)
    held = {(reason, currency): found for (name, reason, currency), found in booked.hours.items() if name == subject}
    numbers: Counter[str] = Counter()  # of a reason's lines, in whatever currency: they are told apart by it
    for (reason, _), (_, lines) in held.items():
        numbers[reason] += lines
    if month.closed:
        if late != NOTHING:
            yield _hour_line(one, subject, GAP, one.bill.currency, minus(NOTHING, late), numbers[GAP] + 1, month)
        for currency, amounts in _bill_news(one, booked, subject):
            numbers[IDLE] += 1
            yield _hour_line(one, subject, IDLE, currency, amounts, numbers[IDLE], month)
        return
    wanted = {(reason, one.bill.currency): amounts for reason, amounts in terms(one).items()}
    for reason, currency in sorted({*wanted, *held}):
        booked_amounts, lines = held.get((reason, currency), (NOTHING, 0))
        amounts = wanted.get((reason, currency), NOTHING)
        if amounts != booked_amounts or not lines:
            numbers[reason] += 1
            yield _hour_line(one, subject, reason, currency, minus(amounts, booked_amounts), numbers[reason], month)


def _bill_news(one: HourOwed, booked: Booked, subject: str) -> Iterator[tuple[str, Amounts]]:
    """By currency, the bill less what all lines of the hour add up to, where they differ."""
    parts = booked.parts_of(subject, one.hour)
    for currency in sorted({one.bill.currency, *parts}):
        bill = one.bill.amount if currency == one.bill.currency else 0
        known = reduce(plus, parts.get(currency, {}).values(), NOTHING)
        if known != (bill, bill, bill):
            yield currency, minus((bill, bill, bill), known)


def terms(one: HourOwed) -> dict[str, Amounts]:
    """Of an hour's own lines, each basis, whole 10^-18: what requests carry there is not in it. Underfill is a memo: part of the shares."""
    gap, idle, left_gap, left_idle = (
        one.terms[name] for name in ("gap", "idle", "unallocated_gap", "unallocated_idle")
    )
    found = {GAP: (left_gap, gap, left_gap), IDLE: (idle, idle, left_idle)}
    if one.unlogged is not None and one.unlogged.names:
        direct, share, rest = one.unlogged.direct, one.unlogged.gap, one.unlogged.idle
        amounts = tuple(amount * LINES_A_MINOR for amount in (direct + share, direct, direct + share + rest))
        found[UNLOGGED] = amounts[0], amounts[1], amounts[2]
    return found if one.settled is None or one.settled.underfill is None else found | {UNDERFILL: NOTHING}


def _hour_line(
    one: HourOwed, subject: str, reason: str, currency: str, amounts: Amounts, number: int, month: Month
) -> NewCharge:
    settled = one.settled
    details: dict[str, Any] = {"curve_id": one.settings.curve_id}
    if reason == UNDERFILL and settled is not None and settled.underfill is not None:
        details |= {"underfill": format_minor(settled.underfill), "best_batch": one.best_batch, "part_of": "direct"}
    if reason == GAP and settled is not None:
        details |= {"unproven": format_minor(settled.unproven), "calibration": settled.calibration}
        if settled.variance is not None:
            details["efficiency_variance"] = format_minor(settled.variance)
    if reason == UNLOGGED and one.unlogged is not None:
        names = one.unlogged.names
        details |= {"requests": len(names), "share_seconds": one.unlogged.seconds, "request_ids": list(names[:_NAMES])}
    return NewCharge(
        charge_id=f"{subject}/{reason}/{number}",
        subject_kind="pool_hour",
        subject_id=subject,
        charge_period_start=one.hour,
        booking_period=month.period,
        category="Usage",
        class_=None if number == 1 else "Correction",
        charge_status="priced",
        seller=SELLER,
        model=f"{one.settings.pool_id}: idle and gap",
        purpose=PURPOSES[reason],
        billing_currency=currency,
        basis=BASIS,
        policy=one.settings.policy,
        reason=reason,
        deployment=one.settings.pool_id,
        details=details,
        **costs_of(amounts),
    )
