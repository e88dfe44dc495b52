"""Does an imported bill stand against a schedule that was worked out before it came in?"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from accounting.ledger.pool_bill_imports import import_bills
from accounting.selfhosted.imports.own_csv import read_own_csv
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import CSV, SCHEDULE, BilledHour, append, begin, read_bills
from accounting.storage.pools import end_member
from tests.accounting.ledger.pool_world import POOL, PoolWorld, moment
from tests.conftest import Database

pytestmark = pytest.mark.storage
HOUR, NEXT = moment("01T10"), moment("01T11")
_WAITING = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def test_a_longer_period_imported_again_is_the_whole_of_its_hours(database: Database) -> None:
    """744 for October: 1 an hour; the replica having left on the 16th, 744/360 an hour of the first fifteen days, and nothing after."""
    world = PoolWorld.make(database)
    row = {
        "pool": POOL,
        "from": "2026-10-01T00:00:00Z",
        "until": "2026-11-01T00:00:00Z",
        "cost": "744",
        "currency": "USD",
    }
    read = read_own_csv([(1, row)])
    since, until = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    for hours in (744, 360):
        import_bills(database.app, world.tenant, read, CSV, "october.csv", "test")
        with transaction(database.app, world.tenant.tenant) as connection:
            bills = read_bills(connection, since, until)
        assert sum(one.amount for one in bills.values()) == 744 * 10**18
        assert sum(one.amount > 0 for one in bills.values()) == hours
        end_member(database.app, world.tenant, POOL, "r0", datetime(2026, 10, 16, tzinfo=UTC), "test")


def test_an_import_waits_for_the_schedule_that_is_being_billed_and_is_recorded_after_it(database: Database) -> None:
    world = PoolWorld.make(database)
    read = read_own_csv([(1, {"pool": POOL, "hour": "2026-10-01T10:00:00Z", "cost": "3", "currency": "USD"})])
    with ThreadPoolExecutor(1) as beside:
        with transaction(database.app, world.tenant.tenant) as connection:
            at = begin(connection, world.tenant)
            imported = beside.submit(import_bills, database.app, world.tenant, read, CSV, "a.csv", "test")
            deadline = time.monotonic() + 60
            while not imported.done() and time.monotonic() < deadline:
                if connection.execute(_WAITING).scalar_one():
                    break
                time.sleep(0.01)
            assert not imported.done()
            scheduled = BilledHour(POOL, HOUR, 2 * 10**18, "USD", None, SCHEDULE, None, [])
            append(connection, world.tenant, [scheduled], "settlement", at)
        assert imported.result(60).replaced == 1
    with transaction(database.app, world.tenant.tenant) as connection:
        [bill] = read_bills(connection, HOUR, NEXT).values()
    assert (bill.source, bill.amount) == (CSV, 3 * 10**18)
