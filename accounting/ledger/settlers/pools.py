"""START here for pools. How do the bills of pool hours become charges of the requests they served?

    due hours -> their log -> attribution and split of the bill -> difference to what is booked -> lines

Each hour adds up to its bill in every basis, to the last digit: attributed (the effective cost), direct and fully loaded. What divides
a bill is whole 10^-15; what a bill has below that stays with the hour's idle line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.open_month import Closed, Month, closed_months, month_of
from accounting.ledger.settlers.pool_booked import NOTHING, Booked, read_booked
from accounting.ledger.settlers.pool_cells import HOUR, replica_codes
from accounting.ledger.settlers.pool_due import Due, due_hours, runs
from accounting.ledger.settlers.pool_hour_lines import hour_lines
from accounting.ledger.settlers.pool_lines import event_lines, sum_of
from accounting.ledger.settlers.pool_log import Log, read_log
from accounting.ledger.settlers.pool_row import settled_row
from accounting.ledger.settlers.pool_shares import HourOwed, owed_for
from accounting.selfhosted.curve import Curve
from accounting.selfhosted.pool_settings import Membership
from accounting.storage.curves import recorded_curve
from accounting.storage.pool_hours import record_hours
from accounting.storage.pool_steps import hour_steps
from accounting.storage.pools import members, statements
from accounting.tenant import TenantContext


def settle_pools(
    connection: Connection, context: TenantContext, *, now: datetime | None = None, closed: Closed | None = None
) -> Iterator[NewCharge]:
    """The lines that bring a tenant's pools up to `now`; what each hour became is noted in pool_hours beside them."""
    moment = now or datetime.now(UTC)
    shut = closed or closed_months(connection, context.tenant)
    every = members(connection)
    curves: dict[str, Curve] = {}
    for pool, stated in sorted(statements(connection).items()):
        serving = [one for one in every if one.pool_id == pool]
        for run in runs(due_hours(connection, context.tenant, stated, serving, moment)):
            name = run[0].settings.curve_id
            if name not in curves:
                curves[name] = recorded_curve(connection, name)
            yield from _settle_run(connection, context, run, curves[name], serving, shut)


def _settle_run(
    connection: Connection,
    context: TenantContext,
    run: Sequence[Due],
    curve: Curve,
    serving: Sequence[Membership],
    closed: Closed,
) -> Iterator[NewCharge]:
    since, until, settings = run[0].hour, run[-1].hour + HOUR, run[0].settings
    pool = settings.pool_id
    log = read_log(connection, context.tenant, pool, settings.role, since, until, replica_codes(serving))
    booked = read_booked(connection, context.tenant, pool, since, until)
    bills = {one.hour: one.bill for one in run}
    steps = hour_steps(connection, pool, since) if run[0].ledgered else []
    found = owed_for([one.hour for one in run], bills, settings, curve, serving, log, run[0].log.lacking, steps)
    rows: list[dict[str, Any]] = []
    for due, owed in zip(run, found, strict=True):
        month = month_of(due.hour, closed)
        if due.settled is None:
            # A bill that comes after the close is booked in the open month as a whole.
            month = replace(month, closed=False)
        lines = _lines(owed, log, booked, month)
        rows.append(settled_row(due, owed, booked, lines, month))
        yield from lines
    record_hours(connection, context.tenant, rows)


def _lines(owed: HourOwed, log: Log, booked: Booked, month: Month) -> list[NewCharge]:
    """The lines of an hour; what late events of a closed month get is taken from its gap."""
    lines = list(event_lines(owed, log, booked, month))
    late = sum_of(lines) if month.closed else NOTHING
    return [*lines, *hour_lines(owed, booked, month, late)]
