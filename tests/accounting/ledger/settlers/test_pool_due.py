"""Does a settlement read the logs of changed hours alone, and miss nothing that changed?"""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import text

from accounting.ledger.revise import void
from accounting.ledger.settle import settle
from accounting.ledger.settlers.contracts import settle_contracts
from accounting.ledger.settlers.pools import settle_pools
from accounting.selfhosted.pool_settings import Membership
from accounting.storage.pools import record_member, record_pool, withdraw_pool
from tests.accounting.ledger.pool_world import LATER, POOL, PoolWorld, moment, request
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]
TEN, ELEVEN, NEXT = "01T10", "01T11", "03T10"
A = request("a", "10:00:00", "10:00:01", "10:00:03")
B = request("b", "10:00:01", "10:00:02", "10:00:04")
N = request("n", "2026-10-03T10:00:00Z", "2026-10-03T10:00:01Z", "2026-10-03T10:00:03Z")


def run(world: PoolWorld) -> int:
    """A whole run, which takes the notes of what changed; returns the lines appended."""
    settlers = [settle_contracts, lambda connection, tenant: settle_pools(connection, tenant, now=LATER)]
    appended: int = settle(world.database.app, world.tenant, settlers=settlers)["charges"]
    return appended


@pytest.fixture
def world(database: Database) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, N)
    made.bill("2.49", TEN, NEXT)
    assert run(made) > 0
    assert run(made) == 0
    return made


def test_an_hour_that_nobody_noted_is_not_read(world: PoolWorld) -> None:
    """The log of the first hour is taken away behind the ledger's back: only a run that reads everything finds it."""
    with world.database.owner.begin() as connection:
        connection.execute(text("SET LOCAL tokencogs.tenant = '" + world.tenant.tenant + "'"))
        gone = connection.execute(text("DELETE FROM usage_events WHERE event_id = 'a' RETURNING 1")).all()
    assert gone == [(1,)]
    assert run(world) == 0
    world.send(request("o", "2026-10-03T10:00:01Z", "2026-10-03T10:00:02Z", "2026-10-03T10:00:04Z"))
    run(world)
    assert world.costs(TEN)["a"] > 0
    settle(
        world.database.app,
        world.tenant,
        settlers=[lambda connection, tenant: settle_pools(connection, tenant, now=LATER)],
    )
    assert world.costs(TEN)["a"] == 0


def test_a_late_event_of_an_old_hour_is_found(world: PoolWorld) -> None:
    world.send(B)
    run(world)
    assert set(world.costs(TEN)) == {"a", "b"}
    assert world.totals(TEN) == world.totals(NEXT) == {Decimal("2.49")}


def test_a_late_event_is_found_in_the_later_hour_into_which_it_runs(world: PoolWorld) -> None:
    world.send(request("long", "2026-10-03T09:50:00Z", "2026-10-03T09:59:00Z", "2026-10-03T10:00:02Z"))
    run(world)
    assert set(world.costs(NEXT)) == {"long", "n"}


def test_a_void_in_an_old_hour_is_shared_anew(world: PoolWorld) -> None:
    world.send(B)
    run(world)
    void(world.database.app, world.tenant, "b", "test")
    run(world)
    assert world.costs(TEN)["b"] == 0
    assert world.query("SELECT charged FROM settled_pool_hours WHERE hour = :hour", hour=moment(TEN)) == [(1,)]


def test_a_replica_stated_late_changes_hours_whose_log_is_as_it_was(world: PoolWorld) -> None:
    record_member(world.database.app, world.tenant, Membership(POOL, "r1", moment("01T00")), "test")
    run(world)
    [(capacity,)] = world.query("SELECT capacity_us FROM settled_pool_hours WHERE hour = :hour", hour=moment(TEN))
    assert capacity == 7_200_000_000
    assert run(world) == 0


def test_what_came_while_a_pool_was_withdrawn_is_found_once_it_is_stated_again(world: PoolWorld) -> None:
    settings = world.settings[POOL]
    withdraw_pool(world.database.app, world.tenant, POOL, settings.effective_from, "test")
    world.send(B)
    run(world)
    assert set(world.costs(TEN)) == {"a"}
    record_pool(world.database.app, world.tenant, settings, "test")
    run(world)
    assert set(world.costs(TEN)) == {"a", "b"}
