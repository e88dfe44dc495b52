"""Does the list of unpriced usage say why an event has no price now, and how many have none for each reason?"""

from __future__ import annotations

import pytest

from accounting.reports.unpriced import unpriced
from accounting.storage.pools import withdraw_member
from tests.accounting.ledger.pool_world import POOL, START, PoolWorld, request
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


def test_reasons_stand_with_their_counts_and_a_later_reason_takes_the_place_of_an_earlier_one(
    database: Database,
) -> None:
    world = PoolWorld.make(database, outside_range="refuse")
    long, unknown = {"usage": {"input_tokens": 300_000}}, {"usage": {"cache_read_tokens": None}}
    world.send(
        request("a", "10:00:00", "10:00:01", "10:00:03", **long),
        request("b", "10:00:00", "10:00:01", "10:00:03", **long),
        request("c", "10:00:00", "10:00:01", "10:00:03", **unknown),
    )
    world.bill("2.49", "01T10")
    world.settle()
    assert _reasons(world) == {"outside_measured_range": 2, "cached_tokens_unknown": 1}
    withdraw_member(database.app, world.tenant, POOL, "r0", START, "test")
    world.settle()
    assert _reasons(world) == {"replica_not_billed": 3}


def _reasons(world: PoolWorld) -> dict[str, int]:
    return {row["reason"]: row["events"] for row in unpriced(world.database.app, world.tenant)}
