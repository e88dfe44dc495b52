"""How do pools get their bills from their schedules and rates?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Engine

from accounting.errors import InvalidInput
from accounting.ledger.pool_bill_news import Billed, Key, news
from accounting.money import format_plain, from_line
from accounting.selfhosted.bills import HourBills, Part, bill_hour
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.rates import moment, us
from accounting.selfhosted.schedule import schedule
from accounting.storage import gpu_rates, pools
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import (
    LONGEST,
    SCHEDULE,
    BilledHour,
    append,
    begin,
    gpu_hours,
    read_bills,
    read_unused,
)
from accounting.tenant import TenantContext


def bill_schedule(
    engine: Engine,
    context: TenantContext,
    since: datetime,
    until: datetime,
    actor: str,
    *,
    replace_imported: bool = False,
    now: datetime | None = None,
) -> Billed:
    """Bills the full hours of [since, until) of all pools that have ended. Raises InvalidInput for a period that can't be used."""
    if until <= since:
        raise InvalidInput("until", until.isoformat(), f"must be after {since.isoformat()}")
    if until - since > LONGEST:
        raise InvalidInput("until", until.isoformat(), f"at most {LONGEST.days} days are billed at once")
    with transaction(engine, context.tenant) as connection:
        return bill_hours(connection, context, since, until, actor, replace_imported=replace_imported, now=now)


def bill_hours(
    connection: Connection,
    context: TenantContext,
    since: datetime,
    until: datetime,
    actor: str,
    *,
    replace_imported: bool = False,
    now: datetime | None = None,
) -> Billed:
    """The same in a transaction of the caller's."""
    at = begin(connection, context)
    first, last = -(-us(since) // HOUR_US) * HOUR_US, min(us(until), us(now or at)) // HOUR_US * HOUR_US
    stated, rates = pools.statements(connection), gpu_rates.in_force(connection)
    members = pools.members(connection, since, until)
    stretches = schedule(stated, members, first, max(first, last))
    currencies = {pool_id: versions[0].billing_currency for pool_id, versions in stated.items()}
    result, found = Billed(), dict[Key, BilledHour]()
    unused = dict[Key, BilledHour]()
    for hour_us in range(first, last, HOUR_US):
        hour = bill_hour(hour_us, stretches, rates, currencies)
        result.missing += hour.missing
        found |= _bills(hour)
        unused |= _unused(hour)
    known = read_bills(connection, moment(first), moment(last)), read_unused(connection, moment(first), moment(last))
    unknown = {(one.pool_id, moment(one.hour_us)) for one in result.missing}
    new = [
        *news(found, known[0], result, replace_imported, unknown),
        *news(unused, known[1], result, replace_imported, set()),
    ]
    append(connection, context, new, actor, at)
    return result


def _bills(hour: HourBills) -> dict[Key, BilledHour]:
    return {
        (one.pool_id, moment(one.hour_us)): BilledHour(
            one.pool_id,
            moment(one.hour_us),
            one.amount,
            one.billing_currency,
            one.gpu_us,
            SCHEDULE,
            None,
            [_part(part) for part in one.parts],
        )
        for one in hour.bills
    }


def _unused(hour: HourBills) -> dict[Key, BilledHour]:
    return {
        (one.rate_id, moment(one.hour_us)): BilledHour(
            one.rate_id, moment(one.hour_us), one.amount, one.billing_currency, one.gpu_us, SCHEDULE, None, None
        )
        for one in hour.unused
    }


def _part(part: Part) -> dict[str, str]:
    return {
        "rate_id": part.rate_id,
        "kind": part.kind,
        "gpu_hours": format_plain(gpu_hours(part.gpu_us)),
        "amount": format_plain(from_line(part.amount)),
    }
