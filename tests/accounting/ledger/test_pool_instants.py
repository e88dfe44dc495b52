"""What does a call cost whose stamps fall together, as those of whole seconds do? Its steps, as if they had been a moment apart."""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounting.ledger.settle import settle
from tests.accounting.ledger.pool_world import PoolWorld, a, request
from tests.conftest import Database

pytestmark = pytest.mark.storage
TEN = "01T10"


def terms(world: PoolWorld) -> dict[str, tuple[Decimal, float, float, float]]:
    """Direct cost, shared seconds, steps and mean batch of each event."""
    rows = world.query(
        "SELECT subject_id, sum(direct_cost), max((details->>'shared_seconds')::float8), max((details->>'steps')::float8), "
        "max((details->>'mean_batch')::float8) FROM charges WHERE subject_kind = 'event' AND basis = 'attributed' GROUP BY 1"
    )
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in rows}


def test_a_prompt_of_no_time_has_its_step(database: Database) -> None:
    """3.60 an hour is 0.001 a second. 0.021 s own prefill, 0.0002001 own decode, two steps of t_0 0.010 alone: 0.0412001 s."""
    for first in ("10:00:01", "10:00:01.031"):
        world = PoolWorld.make(database)
        world.send(request("x", "10:00:01", first, "10:00:02", usage={"output_tokens": 2}))
        world.bill("3.60", TEN)
        world.settle()
        assert terms(world) == {"x": (Decimal("0.0000412001"), 0.02, 2.0, 1.0)}


def test_an_answer_of_no_time_has_its_steps(database: Database) -> None:
    """First and last token in one stamp: the decode step is there all the same."""
    world = PoolWorld.make(database)
    world.send(request("x", "10:00:01", "10:00:02", "10:00:02", usage={"output_tokens": 2}))
    world.bill("3.60", TEN)
    world.settle()
    assert terms(world) == {"x": (Decimal("0.0000412001"), 0.02, 2.0, 1.0)}


@pytest.mark.parametrize("first", ["10:00:01", None])
def test_a_call_in_one_stamp_stops_no_settlement(database: Database, first: str | None) -> None:
    """0.021 s own prefill and one t_0: 0.031 s at 0.001 a second. The other pool's call and its bill are settled beside it."""
    world = PoolWorld.make(database)
    world.pool(("z0",), pool_id="zebra")
    other = request("other", "10:00:00", "10:00:01", "10:00:03", deployment="zebra", replica="z0")
    world.send(request("x", "10:00:01", first, "10:00:01", usage={"output_tokens": 1}), other)
    world.bill("3.60", TEN)
    world.bill("3.60", TEN, pool="zebra")
    settle(database.app, world.tenant)
    found = terms(world)
    assert found["x"] == (Decimal("0.000031"), 0.01, 1.0, 1.0)
    assert found["other"][0] > 0


def test_calls_in_one_stamp_share_their_step_alike(database: Database) -> None:
    """x and y share the one step of their prompts: 0.021 s of their own and half of 0.010 s each, at 0.001 a second."""
    world = PoolWorld.make(database)
    world.send(*(request(name, *["10:00:01"] * 3, usage={"output_tokens": 1}) for name in "xy"))
    world.bill("3.60", TEN)
    world.settle()
    assert terms(world) == dict.fromkeys("xy", (Decimal("0.000026"), 0.005, 1.0, 2.0))


def test_a_prefill_pool_is_settled_where_the_first_token_is_stamped_with_the_call(database: Database) -> None:
    world = PoolWorld.make(database, role="decode")
    world.pool(("p0",), pool_id="prefill-1", role="prefill")
    world.send(a(first_token_at="2026-10-01T10:00:00Z", prefill_deployment="prefill-1", prefill_replica="p0"))
    world.bill("1.80", TEN, pool="prefill-1")
    world.settle()
    [row] = world.query("SELECT direct > 0 FROM settled_pool_hours WHERE pool_id = 'prefill-1'")
    assert row[0]
