"""How is a month closed, so that its figures never change again?

Months close in order and are never reopened: a figure once reported stays, and what changes later is booked in the first open month
(booking.py). The close waits for the tenant's writers, and they for it (rollups.lock).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, insert, text

from accounting.errors import Busy, Conflict, InvalidInput
from accounting.ledger import rollups
from accounting.ledger.booking import FIRST_OPEN
from accounting.ledger.check import CheckLine, check, differences
from accounting.ledger.left_open import OPEN, coverage, describe
from accounting.ledger.settle import ALONE
from accounting.money import format_plain
from accounting.months import month_after
from accounting.storage import audit
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import closed_months
from accounting.tenant import TenantContext

ACCEPTABLE = (*OPEN, "no_charges")
"""What is refused in a month that is closed, unless whoever closes it says so by name."""

_FIRST_OPEN = text(f"SELECT {FIRST_OPEN}")
_EARLIEST = text(
    "SELECT min(booking_period) FROM rollup_15m WHERE tenant = :tenant AND booking_period < :month "
    f"AND booking_period >= coalesce({FIRST_OPEN}, '-infinity')"
)
_LIST = text(
    "SELECT month, closed_at, closed_by, totals, coverage, accepted, note FROM closed_months WHERE tenant = :tenant ORDER BY month"
)


@dataclass(frozen=True)
class Moved:
    """One measure of a closed month that is not what it was at the close; costs are in currency units."""

    month: date
    billing_currency: str
    measure: str
    at_close: Decimal
    now: Decimal

    def describe(self) -> str:
        """One line for a person."""
        return (
            f"{self.month:%Y-%m} {self.measure} {self.billing_currency}: closed at {self.at_close:f}, now {self.now:f} "
            f"({self.now - self.at_close:+f})"
        )


def close_month(
    engine: Engine,
    context: TenantContext,
    month: date,
    who: str,
    *,
    accept: Sequence[str] = (),
    note: str = "",
    dry_run: bool = False,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Closes a month (its first day) and returns what was noted of it; `dry_run` refuses the same and notes nothing.

    Raises InvalidInput for what is no month that is over, Conflict where it is closed, an earlier one is open, something is left
    open or nothing was ever charged that `accept` (of ACCEPTABLE) doesn't name, or the check differs; Busy during a settlement run.
    """
    until = _next(month)
    _refuse_unended(context, month, until, now or datetime.now(UTC))
    for name in accept:
        if name not in ACCEPTABLE:
            raise InvalidInput("accept", name, f"one of {', '.join(ACCEPTABLE)} is expected")
    if not who.strip():
        raise InvalidInput("closed_by", who, "say who closes the month")
    moment = now or datetime.now(UTC)
    with transaction(engine, context.tenant) as connection:
        # A run that began before the close would book by the months that were open then.
        if not connection.execute(ALONE, {"tenant": context.tenant}).scalar_one():
            raise Busy(f"a settlement run of tenant {context.tenant} is at work; close once it is over", retry_after=60)
        rollups.lock(connection, context.tenant, exclusive=True)
        _refuse_disorder(connection, context, month)
        found = coverage(connection, context, month, until)
        _refuse_open(connection, context, month, found, accept)
        # Writers wait for this transaction, so another connection sees the books as they are closed.
        lines = check(engine, context, month)
        differing = differences(lines)
        if differing:
            raise Conflict(f"month={month:%Y-%m}: the check differs: {differing[0].describe()}")
        totals = _totals(lines)
        if not totals and "no_charges" not in accept:
            raise Conflict(
                f"month={month:%Y-%m}: nothing was ever charged in it; close a later month, or accept no_charges"
            )
        row = {"month": month, "closed_by": who, "totals": totals, "coverage": found, "note": note}
        row |= {"accepted": sorted(set(accept)), "closed_at": moment}
        if not dry_run:
            connection.execute(insert(closed_months).values(row | {"tenant": context.tenant}))
            after = {name: row[name] for name in ("totals", "coverage", "accepted", "note")}
            audit.note(connection, context.tenant, moment, who, "month.close", f"{month:%Y-%m}", None, after)
    return row


def closed(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """What was noted of every closed month, the earliest first."""
    with read_only(engine, context.tenant) as connection:
        return [dict(row) for row in connection.execute(_LIST, {"tenant": context.tenant}).mappings()]


def moved(engine: Engine, context: TenantContext, lines: Iterable[CheckLine], only: date | None = None) -> list[Moved]:
    """Measures of closed months that are not what they were at the close; `lines` are the check's, of `only` or of all months."""
    ledger = {(line.booking_period, line.billing_currency, line.measure): line.ledger for line in lines}
    noted = {
        (row["month"], currency, measure): Decimal(value)
        for row in closed(engine, context)
        if only is None or row["month"] == only
        for currency, measures in row["totals"].items()
        for measure, value in measures.items()
    }
    months = {key[0] for key in noted}
    keys = sorted({*noted, *(key for key in ledger if key[0] in months)})
    pairs = [(key, noted.get(key, Decimal(0)), ledger.get(key, Decimal(0))) for key in keys]
    return [Moved(*key, before, after) for key, before, after in pairs if before != after]


def _next(month: date) -> date:
    if month.day != 1:
        raise InvalidInput("month", month.isoformat(), "the first day of a month is expected")
    return month_after(month)


def _refuse_unended(context: TenantContext, month: date, until: date, now: datetime) -> None:
    """Bookings are by UTC month, days of reports by the tenant's zone: the month must be over in both."""
    for zone in ("UTC", context.reporting_tz):
        if now.astimezone(ZoneInfo(zone)).date() < until:
            raise InvalidInput("month", f"{month:%Y-%m}", f"is not over in {zone}")


def _refuse_disorder(connection: Connection, context: TenantContext, month: date) -> None:
    first: date | None = connection.execute(_FIRST_OPEN).scalar_one()
    if first is not None and month < first:
        raise Conflict(f"month={month:%Y-%m}: is closed already; the first open month is {first:%Y-%m}")
    earlier = connection.execute(_EARLIEST, {"tenant": context.tenant, "month": month}).scalar_one()
    if earlier is not None:
        raise Conflict(f"month={month:%Y-%m}: {earlier:%Y-%m} has charges and is open; close it first")


def _refuse_open(
    connection: Connection, context: TenantContext, month: date, found: dict[str, int], accept: Sequence[str]
) -> None:
    left = [name for name in OPEN if found.get(name) and name not in accept]
    if left:
        said = "; ".join(describe(connection, context, month, name, found[name]) for name in left)
        raise Conflict(f"month={month:%Y-%m}: left open: {said}. Settle, price or dismiss them, or accept them by name")


def _totals(lines: Iterable[CheckLine]) -> dict[str, dict[str, str]]:
    """Currency -> measure -> exact decimal as text."""
    totals: dict[str, dict[str, str]] = {}
    for line in lines:
        totals.setdefault(line.billing_currency, {})[line.measure] = format_plain(line.ledger)
    return totals
