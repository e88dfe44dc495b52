"""From which hour on does a settlement run bill, when it comes late? From the first that costs something, part of it or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Connection, text

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.pool_billing import bill_hours
from accounting.ledger.settle import settle
from accounting.ledger.settlers.scheduled_bills import ANEW, bill_scheduled
from accounting.selfhosted.pool_settings import Membership, PoolSettings
from accounting.selfhosted.rates import GpuRate
from accounting.storage import gpu_rates, pools
from accounting.storage.curves import record_shared_curve
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import LONGEST
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from api.routes.curves import EXAMPLE_CURVE
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

DAY = datetime(2026, 9, 1, tzinfo=UTC)
_NUMBERS = count(1)


def tenant_with(database: Database, rate: GpuRate, *starts: datetime) -> TenantContext:
    """A pool of two GPUs a replica; a replica from each of the starts on."""
    record_shared_curve(database.owner, json.dumps({**EXAMPLE_CURVE, "curve_id": "shared"}))
    name = f"scheduled{next(_NUMBERS)}"
    create_tenant(database.owner, name, name)
    found = context(database.app, name)
    pools.record_pool(database.app, found, PoolSettings("chat", DAY, "m", "shared", "H200", 2, 8192, 64, "USD"), "test")
    gpu_rates.record_rate(database.app, found, rate, "test")
    for number, start in enumerate(starts):
        pools.record_member(database.app, found, Membership("chat", f"r{number}", start, rate_id=rate.rate_id), "test")
    return found


def reserved() -> GpuRate:
    """720 for two GPUs and 30 days: 1 an hour."""
    return GpuRate("res", "reserved", "H200", "USD", DAY, DAY + timedelta(days=30), gpus=2, amount=Decimal(720))


def run(database: Database, tenant: TenantContext, now: datetime) -> tuple[Decimal, Decimal]:
    """Bills and unused capacity, newest records, after a run at a moment."""

    def bills(connection: Connection, asked: TenantContext) -> Iterator[NewCharge]:
        return bill_scheduled(connection, asked, now=now)

    settle(database.app, tenant, settlers=(bills,))
    dated = "SELECT DISTINCT ON ({key}, hour) amount FROM {table} ORDER BY {key}, hour, recorded_at DESC"
    newest = f"SELECT coalesce(sum(amount), 0) FROM ({dated}) AS t"
    with transaction(database.app, tenant.tenant) as connection:
        billed, unused = (
            connection.execute(text(newest.format(key=key, table=table))).scalar_one()
            for key, table in (("pool_id", "pool_bills"), ("rate_id", "unused_gpu_hours"))
        )
    return billed, unused


def test_a_replica_that_came_within_an_hour_costs_its_part_of_it_however_late_it_is_stated(database: Database) -> None:
    """Two GPUs at 1 for 3 days and 5 hours less 10.5: 133."""
    rate = GpuRate("od", "on_demand", "H200", "USD", DAY, price_per_hour=Decimal(1))
    late = tenant_with(database, rate, DAY + timedelta(hours=10, minutes=30))
    assert run(database, late, DAY + timedelta(days=3, hours=5)) == (133, 0)
    hourly = tenant_with(database, rate, DAY + timedelta(hours=10, minutes=30))
    assert run(database, hourly, DAY + timedelta(hours=12)) == (3, 0)
    assert run(database, hourly, DAY + timedelta(days=3, hours=5)) == (133, 0)


def test_a_reservation_costs_before_its_first_replica_comes(database: Database) -> None:
    """240 hours unused, then 240 served; a later run adds what has passed since."""
    tenant = tenant_with(database, reserved(), DAY + timedelta(days=10))
    for _ in range(2):
        assert run(database, tenant, DAY + timedelta(days=20, minutes=30)) == (240, 240)
    assert run(database, tenant, DAY + timedelta(days=25)) == (360, 240)


def test_what_was_owned_for_years_is_billed_once_and_not_anew_by_each_run(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run goes back as far as one may, later ones two days."""
    owned = GpuRate(
        "own",
        "reserved",
        "H200",
        "USD",
        DAY - timedelta(days=1_000),
        DAY + timedelta(days=1_000),
        gpus=1,
        amount=Decimal(48_000),
    )
    tenant = tenant_with(database, owned)
    seen: list[datetime] = []

    def watched(connection: Connection, asked: TenantContext, since: datetime, *more: Any, **named: Any) -> Any:
        seen.append(since)
        return bill_hours(connection, asked, since, *more, **named)

    monkeypatch.setattr("accounting.ledger.settlers.scheduled_bills.bill_hours", watched)
    now = DAY + timedelta(minutes=20)
    for later in (timedelta(0), timedelta(minutes=20), timedelta(hours=3)):
        run(database, tenant, now + later)
    assert seen == [
        DAY + timedelta(hours=1) - LONGEST,
        *(now + later - ANEW for later in (timedelta(minutes=20), timedelta(hours=3))),
    ]


def test_a_reservation_that_nobody_serves_on_costs_all_the_same(database: Database) -> None:
    tenant = tenant_with(database, reserved())
    assert run(database, tenant, DAY + timedelta(days=20, minutes=30)) == (0, 480)
    assert run(database, tenant, DAY + timedelta(days=25)) == (0, 600)
    assert run(database, tenant, DAY + timedelta(days=40)) == (0, 720)
