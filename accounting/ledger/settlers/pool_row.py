"""What is noted of a settled pool hour, beside its lines?"""

from __future__ import annotations

from typing import Any

from accounting.ledger.settlers.open_month import Month
from accounting.ledger.settlers.pool_booked import Amounts
from accounting.ledger.settlers.pool_due import Due
from accounting.ledger.settlers.pool_shares import HourOwed
from accounting.money import from_line, from_minor
from accounting.selfhosted.reasons import ESTIMATED, EXACT, QUALITIES


def settled_row(due: Due, owed: HourOwed, late: Amounts, month: Month) -> dict[str, Any]:
    """A row of pool_hours. In a closed month the last one stays, but for what its late events took from the gap."""
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
    return row if last is None or not month.closed else row | _closed(last, late)


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


def _closed(last: Any, late: Amounts) -> dict[str, Any]:
    """What a closed month's row keeps; late events were charged against the gap."""
    kept = (
        "bill",
        "billing_currency",
        "idle",
        "unallocated_gap",
        "unallocated_idle",
        "unproven",
        "underfill",
        "utilisation",
        "variance",
        "unlogged",
        "exact",
    )
    moved = from_line(late[1])
    return {name: getattr(last, name) for name in kept} | {"direct": last.direct + moved, "gap": last.gap - moved}
