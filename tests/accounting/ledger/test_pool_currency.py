"""What stands in the ledger when a pool is restated in another currency? The whole bill in the new one, nothing in the old."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from accounting.ledger.pool_bill_imports import import_bills
from accounting.ledger.pool_check import check_pools
from accounting.selfhosted.imports.own_csv import read_own_csv
from accounting.storage.pool_bills import CSV
from accounting.storage.pools import record_pool
from tests.accounting.ledger.pool_world import POOL, PoolWorld, a
from tests.conftest import Database

pytestmark = pytest.mark.storage


def billed(world: PoolWorld, amount: str, currency: str) -> None:
    row = {"pool": POOL, "hour": "2026-10-01T10:00:00Z", "cost": amount, "currency": currency}
    assert import_bills(world.database.app, world.tenant, read_own_csv([(1, row)]), CSV, "a.csv", "test").written == 1


def totals(world: PoolWorld) -> dict[str, Decimal]:
    rows = world.query(
        "SELECT billing_currency, sum(effective_cost) FROM charges WHERE basis = 'attributed' GROUP BY 1"
    )
    return {row[0]: row[1] for row in rows}


def test_gap_and_idle_are_booked_in_the_new_currency_beside_their_reversal(database: Database) -> None:
    """2.49 USD of request, gap and idle are taken back, 2.25 EUR booked; a run more books nothing."""
    world = PoolWorld.make(database)
    world.send(a())
    billed(world, "2.49", "USD")
    world.settle()
    assert totals(world) == {"USD": Decimal("2.49")}
    record_pool(database.app, world.tenant, replace(world.settings[POOL], billing_currency="EUR"), "test")
    billed(world, "2.25", "EUR")
    for _ in range(2):
        world.settle()
        assert totals(world) == {"USD": 0, "EUR": Decimal("2.25")}
    assert not [one for one in check_pools(database.app, world.tenant) if one.differs]
