"""Does an imported bill stand against a schedule that was worked out before it came in?"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from accounting.ledger.pool_bill_imports import import_bills
from accounting.selfhosted.imports.own_csv import read_own_csv
from accounting.storage.engine import transaction
from accounting.storage.pool_bills import CSV, SCHEDULE, BilledHour, append, begin, read_bills
from tests.accounting.ledger.pool_world import POOL, PoolWorld, moment
from tests.conftest import Database

pytestmark = pytest.mark.storage
HOUR, NEXT = moment("01T10"), moment("01T11")
_WAITING = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


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
