"""Which pool hours does a settlement run bill by their schedule, so that nobody has to ask for it?

Those of each pool since its newest scheduled bill, those of held capacity before and after all bills, and the last two days anew, as
replicas and rates are often stated late. What is older changes by `tokencogs pools bill` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, text

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.pool_billing import bill_hours
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.rates import moment, us
from accounting.storage import gpu_rates, pools
from accounting.storage.pool_bills import LONGEST, SCHEDULE
from accounting.tenant import TenantContext

ACTOR = "settlement"
ANEW = timedelta(days=2)
_NEWEST = text("SELECT pool_id, max(hour) FROM pool_bills WHERE tenant = :tenant AND source = :schedule GROUP BY 1")
_COVERED = text(
    "SELECT min(hour), max(hour) FROM (SELECT hour FROM pool_bills WHERE tenant = :tenant AND source = :schedule "
    "UNION ALL SELECT hour FROM unused_gpu_hours WHERE tenant = :tenant AND source = :schedule) AS every"
)
_HOUR = timedelta(hours=1)
_CLOCK = text("SELECT clock_timestamp()")


def bill_scheduled(
    connection: Connection, context: TenantContext, *, now: datetime | None = None
) -> Iterator[NewCharge]:
    """Bills the hours; a bill is no ledger line, so it yields none."""
    serving = [one for one in pools.members(connection) if one.rate_id is not None]
    held = [one for dated in gpu_rates.in_force(connection).values() for one in dated if one.held]
    if serving or held:
        until: datetime = now or connection.execute(_CLOCK).scalar_one()
        rows = connection.execute(_NEWEST, {"tenant": context.tenant, "schedule": SCHEDULE}).all()
        billed = {pool_id: hour + _HOUR for pool_id, hour in rows}
        owed = [until - ANEW]
        for one in serving:
            first = max(one.effective_from, billed.get(one.pool_id, one.effective_from))
            if one.effective_until is None or first < one.effective_until:
                owed.append(_hour_of(first))
        reach = _hour_of(until - LONGEST) + _HOUR
        least, most = connection.execute(_COVERED, {"tenant": context.tenant, "schedule": SCHEDULE}).one()
        for rate in held:
            first = max(_hour_of(rate.effective_from), reach)
            if least is not None and first >= least:
                first = max(first, most + _HOUR)
            if rate.effective_until is None or first < rate.effective_until:
                owed.append(first)
        bill_hours(connection, context, max(min(owed), reach), until, ACTOR, now=until)
    yield from ()


def _hour_of(at: datetime) -> datetime:
    """The hour's beginning: of one that a replica came in half-way its part is billed."""
    return moment(us(at) // HOUR_US * HOUR_US)
