"""What is noted of a settled pool hour, beside its lines?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.open_month import Month
from accounting.ledger.settlers.pool_booked import NOTHING, REQUESTS, Amounts, Booked, plus
from accounting.ledger.settlers.pool_due import Due
from accounting.ledger.settlers.pool_hour_lines import GAP, IDLE, UNLOGGED
from accounting.ledger.settlers.pool_lines import subject_of, sum_of
from accounting.ledger.settlers.pool_shares import HourOwed
from accounting.money import from_line, from_minor
from accounting.selfhosted.reasons import ESTIMATED, EXACT, QUALITIES


def settled_row(due: Due, owed: HourOwed, booked: Booked, lines: Sequence[NewCharge], month: Month) -> dict[str, Any]:
    """A row of pool_hours; `lines`: the hour's of this run. In a closed month the terms of the bill are what lines have of them."""
    last = due.settled
    row: dict[str, Any] = {
        "pool_id": due.settings.pool_id,
        "hour": due.hour,
        "settlement": 1 if last is None else last.settlement + 1,
        "bill": from_line(due.bill.amount),
        "billing_currency": due.bill.currency,
        **_amounts(owed),
        **_times(owed),
        "requests": owed.requests,
        "charged": sum(1 for one in owed.owed if one.quality is not None),
        "unpriced": sum(1 for one in owed.owed if one.status == "unpriced"),
        "estimated": sum(1 for one in owed.owed if one.quality == QUALITIES[ESTIMATED]),
        "exact": sum(1 for one in owed.owed if one.quality == QUALITIES[EXACT]),
        "extrapolated": owed.extrapolated,
        "best_batch": owed.best_batch,
        "curve_id": due.settings.curve_id,
        "policy": due.settings.policy,
        "fluid": owed.fluid,
        "inputs_hash": due.inputs_hash,
        "log_digest": due.log.text,
        "lacking": due.log.lacking,
    }
    return row if last is None or not month.closed else row | _kept(last) | _standing(owed, booked, lines)


def _amounts(owed: HourOwed) -> dict[str, Any]:
    terms, settled = {name: from_line(value) for name, value in owed.terms.items()}, owed.settled
    if settled is None:
        return terms | dict.fromkeys(("underfill", "utilisation", "calibration", "variance", "unlogged"))
    return terms | {
        "underfill": None if settled.underfill is None else from_minor(settled.underfill),
        "utilisation": settled.utilisation,
        "calibration": settled.calibration,
        "variance": None if settled.variance is None else from_minor(settled.variance),
        "unlogged": None if owed.unlogged is None else from_minor(owed.unlogged.direct),
    }


def _times(owed: HourOwed) -> dict[str, int]:
    """Replica-microseconds."""
    found = owed.found
    if found is None:
        return dict.fromkeys(("capacity_us", "in_flight_us", "idle_us", "unproven_us"), 0)
    return {
        name: int(getattr(found, name)[owed.index])
        for name in ("capacity_us", "in_flight_us", "idle_us", "unproven_us")
    }


def _kept(last: Any) -> dict[str, Any]:
    """What a closed month's row keeps: memos of what its requests were charged by."""
    return {
        name: getattr(last, name) for name in ("unproven", "underfill", "utilisation", "variance", "unlogged", "exact")
    }


def _standing(owed: HourOwed, booked: Booked, lines: Sequence[NewCharge]) -> dict[str, Any]:
    """The terms of the bill as they are booked with this run's lines, in its currency: voids and revisions move them too."""
    subject, currency = subject_of(owed.settings.pool_id, owed.hour), owed.bill.currency
    parts = booked.parts_of(subject, owed.hour).get(currency, {})
    mine = [line for line in lines if line.billing_currency == currency]

    def of(part: str) -> Amounts:
        new = [line for line in mine if part == (REQUESTS if line.subject_kind == "event" else line.reason)]
        return plus(parts.get(part, NOTHING), sum_of(new))

    (gap, gap_direct, gap_loaded), (_, idle, idle_loaded) = of(GAP), of(IDLE)
    amounts = {
        "direct": of(REQUESTS)[1] + of(UNLOGGED)[1],
        "gap": gap_direct,
        "idle": idle,
        "unallocated_gap": gap,
        "unallocated_idle": gap_loaded + idle_loaded - gap,
    }
    return {name: from_line(amount) for name, amount in amounts.items()}
