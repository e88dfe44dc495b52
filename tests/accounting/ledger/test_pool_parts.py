"""What does an event cost that ran in several pools or hours, while one of them has no bill, or can't be priced?"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounting.ledger.explain import explain
from accounting.ledger.read import charge_of
from accounting.selfhosted.pool_settings import Membership
from accounting.storage.pools import record_member
from tests.accounting.ledger.pool_world import START, PoolWorld, a, request
from tests.conftest import Database

pytestmark = pytest.mark.storage
TEN, ELEVEN = "01T10", "01T11"
WHOLE = "0.001883333833334"
"""1.80 an hour for 1.000001 s in flight in the prefill pool, 0.0005000005; 2.49 for 2 s in the decode pool, 0.001383333333334: direct
and gap of it end on two thirds of a unit each, and both are rounded up."""


def told(world: PoolWorld, event_id: str) -> tuple[Any, Any]:
    """Status and cost, the same from the charge and from its derivation."""
    charge = charge_of(world.database.app, world.tenant, event_id)
    outcome = explain(world.database.app, world.tenant, event_id)["outcome"]
    found = (charge["status"], charge["effective_cost"])
    assert found == (outcome["status"], outcome["effective_cost"])
    return found


@pytest.fixture
def world(database: Database) -> PoolWorld:
    """A decode pool, and one of prefill."""
    made = PoolWorld.make(database, role="decode")
    made.pool(("p0",), pool_id="prefill-1", role="prefill")
    return made


def test_a_call_waits_for_the_bill_of_its_own_pool_whatever_else_is_settled(world: PoolWorld) -> None:
    world.send(a(prefill_deployment="prefill-1", prefill_replica="p0"))
    world.bill("1.80", TEN, pool="prefill-1")
    world.settle()
    assert (world.statuses(), told(world, "a")) == ({"pending_settlement": 1}, ("pending_settlement", None))
    [part] = explain(world.database.app, world.tenant, "a")["pools"]
    assert (part["pool_id"], part["attributed_cost"]) == ("prefill-1", "0.0005000005")
    world.bill("2.49", TEN)
    world.settle()
    assert (world.statuses(), told(world, "a")) == ({"priced": 1}, ("priced", WHOLE))


def test_a_call_waits_for_the_hour_that_it_came_in(database: Database) -> None:
    """2.49 an hour: 2 s of eleven, 0.001383333333334 as above, wait for 3 s of ten, 0.002075."""
    world = PoolWorld.make(database)
    world.send(request("x", "10:59:57", "10:59:58", "11:00:02"))
    world.bill("2.49", ELEVEN)
    world.settle()
    assert (world.statuses(), told(world, "x")) == ({"pending_settlement": 1}, ("pending_settlement", None))
    world.bill("2.49", TEN)
    world.settle()
    assert (world.statuses(), told(world, "x")) == ({"priced": 1}, ("priced", "0.003458333333334"))


@pytest.mark.parametrize("pools", [("pool-1", "prefill-1"), ("prefill-1", "pool-1")])
def test_a_part_that_is_unpriced_leaves_the_whole_of_it_unpriced(world: PoolWorld, pools: tuple[str, ...]) -> None:
    """Whichever pool is settled last; until the replica of its prompt is stated."""
    bills = {"pool-1": "2.49", "prefill-1": "1.80"}
    world.send(a(prefill_deployment="prefill-1", prefill_replica="p9"))
    for pool in pools:
        world.bill(bills[pool], TEN, pool=pool)
        world.settle()
    assert told(world, "a") == ("unpriced", None)
    assert charge_of(world.database.app, world.tenant, "a")["reason"] == "replica_not_billed"
    record_member(world.database.app, world.tenant, Membership("prefill-1", "p9", START), "test")
    world.settle()
    status, cost = told(world, "a")
    # Two replicas share the bill now: a second of 7,200 instead of 3,600 costs half.
    assert (status, Decimal(cost)) == ("priced", Decimal("0.001383333333334") + Decimal("0.00025000025"))
