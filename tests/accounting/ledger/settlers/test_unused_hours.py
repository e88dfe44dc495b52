"""Does a settlement run bill pools by their schedule, and book the capacity nobody used, once and by its difference?

A reservation of 4 GPUs costs 48 for 24 hours of 1 September 2026: 2 an hour. The pool `chat` has one replica of 2 of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count

import pytest
from sqlalchemy import text

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.closing import close_month
from accounting.ledger.pool_billing import bill_schedule
from accounting.ledger.pool_check import check_pools
from accounting.ledger.settle import settle
from accounting.ledger.settlers.pools import settle_pools
from accounting.ledger.settlers.scheduled_bills import bill_scheduled
from accounting.ledger.settlers.unused_hours import settle_unused
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.selfhosted.rates import GpuRate
from accounting.storage import gpu_rates, pools
from accounting.storage.curves import record_shared_curve
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import read_bills
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from api.routes.curves import EXAMPLE_CURVE
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

DAY = datetime(2026, 9, 1, tzinfo=UTC)
NOW = DAY + timedelta(hours=3, minutes=20)
LATE = datetime(2026, 10, 3, tzinfo=UTC)
"""When September is over."""
_NUMBERS = count(1)


@pytest.fixture
def tenant(database: Database) -> TenantContext:
    """A tenant of one test, with the pool and the reservation."""
    record_shared_curve(database.owner, json.dumps({**EXAMPLE_CURVE, "curve_id": "shared"}))
    name = f"unused{next(_NUMBERS)}"
    create_tenant(database.owner, name, name)
    found = context(database.app, name)
    pools.record_pool(database.app, found, PoolSettings("chat", DAY, "m", "shared", "H200", 2, 8192, 64, "USD"), "test")
    gpu_rates.record_rate(database.app, found, _reserved("48"), "test")
    pools.record_member(database.app, found, Membership("chat", "r0", DAY, rate_id="res"), "test")
    return found


def _reserved(amount: str) -> GpuRate:
    return GpuRate("res", "reserved", "H200", "USD", DAY, DAY + timedelta(days=1), gpus=4, amount=Decimal(amount))


def _run(database: Database, tenant: TenantContext, now: datetime = NOW) -> Iterator[NewCharge]:
    """What the two settlers yield at a moment, appended as a run does."""
    found: list[NewCharge] = []

    def bills(connection: object, asked: TenantContext) -> Iterator[NewCharge]:
        return bill_scheduled(connection, asked, now=now)  # type: ignore[arg-type]

    def unused(connection: object, asked: TenantContext) -> Iterator[NewCharge]:
        for line in settle_unused(connection, asked, now=now):  # type: ignore[arg-type]
            found.append(line)
            yield line

    settle(database.app, tenant, settlers=(bills, unused))
    return iter(found)


def _ledger(database: Database, tenant: TenantContext) -> Decimal:
    query = "SELECT sum(effective_cost) FROM ledger WHERE tenant = :tenant AND purpose = 'unused_capacity'"
    with transaction(database.app, tenant.tenant) as connection:
        return Decimal(connection.execute(text(query), {"tenant": tenant.tenant}).scalar_one() or 0)


def test_a_run_bills_the_ended_hours_of_a_pool(database: Database, tenant: TenantContext) -> None:
    list(_run(database, tenant))
    with transaction(database.app, tenant.tenant) as connection:
        bills = read_bills(connection, DAY, DAY + timedelta(days=1))
    assert [(hour, bill.amount) for (_, hour), bill in bills.items()] == [
        (DAY + timedelta(hours=hour), 10**18) for hour in range(3)
    ]


def test_unused_capacity_is_booked_by_hour_in_every_basis(database: Database, tenant: TenantContext) -> None:
    lines = list(_run(database, tenant))
    # 2 of 4 GPUs are left: 1 an hour; hours 0, 1 and 2 ended a quarter of an hour ago.
    assert [(line.subject_id, line.effective_cost, line.direct_cost, line.fully_loaded_cost) for line in lines] == [
        (f"unused:res@2026-09-01T0{hour}", Decimal(1), Decimal(1), Decimal(1)) for hour in range(3)
    ]
    assert {(line.purpose, line.deployment, line.class_, line.billing_currency) for line in lines} == {
        ("unused_capacity", None, None, "USD")
    }


def test_an_hour_waits_a_quarter_of_an_hour(database: Database, tenant: TenantContext) -> None:
    assert len(list(_run(database, tenant, DAY + timedelta(hours=1, minutes=14, seconds=59)))) == 0
    assert len(list(_run(database, tenant, DAY + timedelta(hours=1, minutes=15)))) == 1


def test_the_same_run_again_books_nothing(database: Database, tenant: TenantContext) -> None:
    list(_run(database, tenant))
    assert list(_run(database, tenant)) == []
    assert _ledger(database, tenant) == 3


def test_a_replica_stated_late_takes_the_unused_hour_back(database: Database, tenant: TenantContext) -> None:
    list(_run(database, tenant))
    pools.record_member(database.app, tenant, Membership("chat", "r1", DAY, rate_id="res"), "test")
    lines = list(_run(database, tenant))
    assert [(line.class_, line.effective_cost) for line in lines] == [("Correction", Decimal(-1))] * 3
    assert _ledger(database, tenant) == 0


def test_hours_older_than_two_days_stay_as_they_were_billed(database: Database, tenant: TenantContext) -> None:
    list(_run(database, tenant))
    pools.record_member(database.app, tenant, Membership("chat", "r1", DAY, rate_id="res"), "test")
    list(_run(database, tenant, DAY + timedelta(days=3)))
    assert _ledger(database, tenant) == 3


def test_another_amount_books_the_difference(database: Database, tenant: TenantContext) -> None:
    list(_run(database, tenant))
    gpu_rates.record_rate(database.app, tenant, _reserved("96"), "test")
    assert [line.effective_cost for line in _run(database, tenant)] == [Decimal(1)] * 3
    assert _ledger(database, tenant) == 6


def test_a_replica_stated_after_the_close_moves_its_hours_to_the_pool(
    database: Database, tenant: TenantContext
) -> None:
    """24 of 48 are the pool's and 24 unused. With a second replica each hour's bill is 2 and its unused part 0: after the close 24 x 1 more
    are the pool's in October and 24 x 1 less unused, and the reservation is 48 still."""

    def run() -> None:
        steps = partial(settle_pools, now=LATE), partial(settle_unused, now=LATE)
        settle(database.app, tenant, settlers=steps)

    def booked() -> list[tuple[object, ...]]:
        query = (
            "SELECT booking_period, purpose, sum(effective_cost)::int, sum(direct_cost)::int, sum(fully_loaded_cost)::int "
            "FROM charges WHERE purpose IN ('pool_idle', 'unused_capacity') GROUP BY 1, 2 ORDER BY 1, 2"
        )
        with transaction(database.app, tenant.tenant) as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    bill_schedule(database.app, tenant, DAY, DAY + timedelta(days=1), "test", now=LATE)
    run()
    september = [(date(2026, 9, 1), purpose, 24, 24, 24) for purpose in ("pool_idle", "unused_capacity")]
    assert booked() == september
    close_month(database.app, tenant, date(2026, 9, 1), "ann", now=LATE)
    pools.record_member(database.app, tenant, Membership("chat", "r1", DAY, rate_id="res"), "test")
    bill_schedule(database.app, tenant, DAY, DAY + timedelta(days=1), "test", now=LATE)
    for _ in range(2):
        run()
        assert booked() == [
            *september,
            (date(2026, 10, 1), "pool_idle", 24, 24, 24),
            (date(2026, 10, 1), "unused_capacity", -24, -24, -24),
        ]
    assert [one.describe() for one in check_pools(database.app, tenant) if one.differs] == []


def test_what_nobody_used_stands_in_cost_of_revenue(database: Database, tenant: TenantContext) -> None:
    query = "SELECT statement_line FROM purpose_policies WHERE tenant IS NULL AND purpose = 'unused_capacity'"
    with transaction(database.app, tenant.tenant) as connection:
        assert connection.execute(text(query)).scalar_one() == "cost_of_revenue"
