"""What is filled in of requests whose replica or times are not logged? By hand, on the curve of the worked hour."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from accounting.selfhosted.pool_settings import Membership
from accounting.storage.pools import end_member, record_member
from tests.accounting.ledger.pool_world import POOL, START, Make, request

pytestmark = pytest.mark.storage
TEN, ELEVEN = "01T10", "01T11"
HALF = datetime(2026, 10, 1, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize("case", ["one membership", "stated anew within the hour", "another replica left before"])
def test_a_replica_counts_once_however_its_membership_is_stated(make: Make, case: str) -> None:
    """Two calls at once, of 1,000 tokens in and 2 out, one without a replica, both without times: one step of both prompts,
    0.010 + 2 * 0.021 s, and one of both decodes, 0.010 + 2 * (0.0001 + 0.0000001 * 1,001): 0.0624002 s. On two replicas they would be
    in flight for 0.0412001 s."""
    world = make()
    database, tenant = world.database.app, world.tenant
    if case == "stated anew within the hour":
        end_member(database, tenant, POOL, "r0", HALF, "test")
        record_member(database, tenant, Membership(POOL, "r0", HALF), "test")
    elif case == "another replica left before":
        left = datetime(2026, 10, 1, 1, tzinfo=UTC)
        record_member(database, tenant, Membership(POOL, "a-first-by-name", START, left), "test")
    two = {"output_tokens": 2}
    world.send(
        request("known", "10:00:00", None, None, usage=two),
        request("unknown", "10:00:00", None, None, replica=None, usage=two),
    )
    world.bill("3.60", TEN)
    world.settle()
    assert world.query("SELECT in_flight_us, capacity_us FROM settled_pool_hours") == [(62_400, 3_600_000_000)]
    # A microsecond of 3,600 s at 3.60 is 10^-9: the gap is 0.0624 less direct 0.0624002 in all.
    assert sum(world.costs(TEN).values()) == 62_400_000_000


@pytest.mark.parametrize("other", [(), (request("z", "10:50:00", "10:50:01", "10:50:02", replica=None),)])
def test_a_call_that_was_stopped_after_its_first_token_ends_when_its_tokens_were_out(
    make: Make, other: tuple[dict[str, object], ...]
) -> None:
    """100 decode steps alone from 1,000 tokens take 1 + 0.010 + 0.010505 s after the first token, a second after the call: 2.020505 s
    of 3.60 an hour, whether or not another call of the hour lacks something. That one has 2 s; direct and gap go by shares, and both
    have the same: half of 4.020505 s each."""
    world = make()
    world.send(request("x", "10:00:00", "10:00:01", None, status="cancelled"), *other)
    world.bill("3.60", TEN)
    world.settle()
    assert world.costs(TEN)["x"] == (2_010_252_500_000 if other else 2_020_505_000_000)
    assert world.statuses() == {"priced": 1 + len(other)}
    assert world.query("SELECT DISTINCT quality FROM charges WHERE events = 1") == [("estimated",)]


def test_a_call_that_was_stopped_may_have_ended_in_the_next_hour(make: Make) -> None:
    """1.020505 s after 10:59:59.5 are 0.520505 s of the next hour."""
    world = make()
    world.send(request("x", "10:59:59", "10:59:59.5", None, status="cancelled"))
    world.bill("3.60", TEN, ELEVEN)
    world.settle()
    assert (world.costs(TEN), world.costs(ELEVEN)) == ({"x": 1_000_000_000_000}, {"x": 520_505_000_000})
