"""Which requests of a pool hour are charged, by what, and which are not and why?"""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest

from accounting.ledger.read import charge_of
from accounting.selfhosted.curve import Domain, TableCurve
from accounting.selfhosted.curve_json import dump_curve
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.pool_settings import Membership
from accounting.storage.curves import record_curve, record_shared_curve
from accounting.storage.pools import record_member, record_pool
from tests.accounting.ledger.pool_world import POOL, Make, a, b, moment, request
from tests.accounting.selfhosted.worked import CURVE

pytestmark = pytest.mark.storage
TEN, ELEVEN = "01T10", "01T11"
BILL = Decimal("2.49")


def test_an_hour_without_requests_is_idle_and_unallocated(make: Make) -> None:
    world = make()
    world.bill("2.49", TEN)
    world.settle()
    assert world.hour_line(TEN, "idle") == world.hour_line(TEN, "idle", "fully_loaded_cost") == BILL
    assert world.query("SELECT idle, unallocated_idle, calibration FROM pool_hours") == [(BILL, BILL, None)]


def test_an_hour_with_a_bill_and_no_replica_is_idle_and_its_requests_are_unpriced(make: Make) -> None:
    world = make()
    early = "2026-09-30T10:00:00Z"
    record_pool(
        world.database.app,
        world.tenant,
        dataclasses.replace(world.settings[POOL], effective_from=datetime(2026, 9, 1, tzinfo=UTC)),
        "test",
    )
    world.send(request("x", "2026-09-30T10:00:00Z", "2026-09-30T10:00:01Z", "2026-09-30T10:00:02Z"))
    world.bill("2.49", early)
    world.settle()
    assert (world.hour_line(early, "idle"), world.totals(early)) == (BILL, {BILL})
    assert (world.statuses(), world.reasons()) == ({"unpriced": 1}, {"replica_not_billed"})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"usage": {"cache_read_tokens": None}}, "cached_tokens_unknown"),
        ({"replica": "stranger"}, "replica_not_billed"),
        ({"first_token_at": "2026-10-01T10:00:09Z"}, "times_contradict"),
        ({"completed_at": "2026-10-02T10:00:02Z"}, "times_contradict"),
        ({"usage": {"input_tokens": 0}}, "context_unknown"),
        ({"context_tokens": 10, "usage": {"cache_read_tokens": 900}}, "cached_exceeds_context"),
    ],
)
def test_a_request_that_can_carry_no_share_is_unpriced_with_its_reason(
    make: Make, changes: dict[str, object], reason: str
) -> None:
    world = make()
    world.send(a(), b(**changes))
    world.bill("2.49", TEN)
    world.settle()
    assert (world.statuses(), world.reasons()) == ({"priced": 1, "unpriced": 1}, {reason})
    assert (world.totals(TEN), list(world.costs(TEN))) == ({BILL}, ["a"])


def test_a_request_beyond_the_measured_range_is_marked_or_refused_by_the_pools_option(make: Make) -> None:
    flags, refuses = make(), make(outside_range="refuse")
    for world in (flags, refuses):
        world.send(a(usage={"input_tokens": 4_000}))
        world.bill("2.49", TEN)
        world.settle()
        assert world.totals(TEN) == {BILL}
    assert flags.statuses() == {"priced": 1}
    assert flags.query("SELECT extrapolated, charged FROM pool_hours") == [(1, 1)]
    assert flags.query("SELECT details->'beyond_measured_range' FROM charges WHERE quality IS NOT NULL") == [(True,)]
    assert (refuses.statuses(), refuses.reasons()) == ({"unpriced": 1}, {"outside_measured_range"})


def test_steps_that_no_run_of_a_table_had_are_marked_or_refused_by_the_pools_option(make: Make) -> None:
    """Of two at once nothing was served at 10,000 tokens: a and b run together, c alone; v and w wait in this hour
    and run together in the next. Where that is refused, their tokens are unpriced in the hour they came in, and c alone is priced."""
    known = np.array([[True, True], [True, False]])
    steps = Grid(np.array([1.0, 2.0]), np.array([1.0, 10_000.0]), np.full((2, 2), 0.01), known)
    header = dataclasses.replace(CURVE.header, curve_id="holes")
    table = dump_curve(TableCurve(header, Domain((1.0, 2.0), (1.0, 10_000.0)), steps))
    flags, refuses = make(), make(outside_range="refuse")
    for world in (flags, refuses):
        record_curve(world.database.app, world.tenant, table, "test")
        record_pool(
            world.database.app, world.tenant, dataclasses.replace(world.settings[POOL], curve_id="holes"), "test"
        )
        world.send(a(), b(), request("c", "10:30:00", "10:30:01", "10:30:03"))
        world.send(*(request(name, "10:59:50", "11:00:05", "11:00:07") for name in ("v", "w")))
        world.bill("2.49", TEN, ELEVEN)
        world.settle()
        assert world.totals(TEN) == {BILL}
    assert (flags.statuses(), flags.query("SELECT extrapolated FROM pool_hours ORDER BY hour")) == (
        {"priced": 5},
        [(2,), (2,)],
    )
    marked = "SELECT subject_id FROM charges WHERE (details->'beyond_measured_range')::boolean ORDER BY subject_id"
    assert flags.query(marked) == [("a",), ("b",), ("v",), ("w",)]
    assert refuses.query("SELECT charged, unpriced FROM pool_hours ORDER BY hour") == [(1, 4), (0, 2)]
    assert (refuses.statuses(), refuses.reasons()) == ({"priced": 1, "unpriced": 4}, {"outside_measured_range"})
    assert {charge_of(refuses.database.app, refuses.tenant, name)["status"] for name in "abvw"} == {"unpriced"}


def test_what_becomes_known_by_a_revision_is_priced(make: Make) -> None:
    world = make()
    world.send(b(usage={"cache_read_tokens": None}))
    world.bill("2.49", TEN)
    world.settle()
    world.revise(b())
    world.settle()
    assert world.statuses() == {"priced": 1}


def test_an_unpriced_event_becomes_priced_when_its_replica_is_stated(make: Make) -> None:
    world = make()
    world.send(b(replica="r1"))
    world.bill("2.49", TEN)
    world.settle()
    assert (world.statuses(), world.reasons()) == ({"unpriced": 1}, {"replica_not_billed"})
    record_member(world.database.app, world.tenant, Membership(POOL, "r1", moment("01T00")), "test")
    world.settle()
    assert world.statuses() == {"priced": 1}
    assert (world.totals(TEN), world.costs(TEN)["b"] > 0) == ({BILL}, True)


def test_a_request_that_waits_in_one_hour_and_runs_in_the_next_owes_the_next(make: Make) -> None:
    world = make()
    world.send(request("x", "10:59:50", "11:00:05", "11:00:07"))
    world.bill("2.49", TEN, ELEVEN)
    world.settle()
    assert world.costs(TEN) == {"x": 0}
    assert world.costs(ELEVEN)["x"] > 0
    assert world.query(
        "SELECT date_part('hour', charge_period_start)::int FROM ledger WHERE events > 0 AND basis = 'attributed'"
    ) == [(10,)]
    assert world.totals(TEN) == world.totals(ELEVEN) == {BILL}


def test_missing_times_and_replicas_are_estimated_and_the_hour_stays_exact(make: Make) -> None:
    world = make("r0", "r1")
    world.send(
        a(), b(replica=None), request("c", "10:10:00", None, None), request("d", "11:10:00", "11:10:01", "11:10:02")
    )
    world.bill("2.49", TEN, ELEVEN)
    world.settle()
    assert world.totals(TEN) == world.totals(ELEVEN) == {BILL}
    qualities = world.query(
        "SELECT DISTINCT subject_id, quality FROM charges WHERE subject_kind = 'event' AND quality IS NOT NULL ORDER BY 1"
    )
    assert qualities == [("a", "estimated"), ("b", "estimated"), ("c", "estimated"), ("d", "measured")]
    assert world.query("SELECT fluid, estimated FROM settled_pool_hours ORDER BY hour") == [(True, 3), (False, 0)]


def test_a_missing_replica_is_shared_also_where_one_came_within_the_hour(make: Make) -> None:
    world = make()
    record_member(
        world.database.app, world.tenant, Membership(POOL, "r1", datetime(2026, 10, 1, 10, 30, tzinfo=UTC)), "test"
    )
    world.send(a(replica=None), request("c", "10:40:00", "10:40:01", "10:40:02", replica="r1"))
    world.bill("2.49", TEN)
    world.settle()
    assert (world.totals(TEN), world.statuses()) == ({BILL}, {"priced": 2})
    assert world.query("SELECT capacity_us FROM pool_hours") == [(5_400_000_000,)]


def test_a_disaggregated_request_is_charged_in_each_pool_for_its_phase(make: Make) -> None:
    world = make(role="decode")
    world.pool(("p0",), pool_id="prefill-1", role="prefill")
    world.send(a(prefill_deployment="prefill-1", prefill_replica="p0"))
    world.bill("2.49", TEN)
    world.bill("1.80", TEN, pool="prefill-1")
    world.settle()
    assert world.totals(TEN) == {BILL}
    assert world.totals(TEN, pool="prefill-1") == {Decimal("1.8")}
    rows = world.query(
        "SELECT deployment, (details->>'prefill_seconds')::float > 0, (details->>'decode_seconds')::float > 0, events::int FROM charges "
        "WHERE subject_kind = 'event' AND basis = 'attributed' ORDER BY 1"
    )
    assert rows == [("pool-1", False, True, 1), ("prefill-1", True, False, 0)]
    # By hand: a prompt of 1,000 alone, 0.010 + 0.021 s of 3,600 for 1.80; it is in flight there for the second to its
    # first token, and the microsecond in which that falls.
    assert world.costs(TEN, "direct_cost", "prefill-1") == {"a": 15_500_000_000}
    assert world.costs(TEN, "effective_cost", "prefill-1") == {"a": 500_000_500_000}
    # 100 steps alone from a context of 1,000: 1 + 0.010 + 0.010505 s for 2.49, over 2 s in flight from the first token.
    assert world.costs(TEN, "direct_cost") == {"a": 705_849_291_667}
    # Direct, gap and idle end on two thirds of a unit each: the two units left over go to the first two.
    assert world.costs(TEN) == {"a": 705_849_291_667 + 677_484_041_667}


def test_a_request_that_stays_unpriced_in_another_pools_hour_gets_no_further_line(make: Make) -> None:
    world = make(role="decode")
    world.pool(("p0",), pool_id="prefill-1", role="prefill")
    world.send(a(prefill_deployment="prefill-1", prefill_replica="p0", usage={"cache_read_tokens": None}))
    for amount in ("1.80", "1.90"):
        world.bill(amount, TEN, pool="prefill-1")
        world.settle()
    rows = world.query("SELECT charge_status, reason, events FROM charges WHERE subject_kind = 'event'")
    assert rows == [("unpriced", "cached_tokens_unknown", 0)]


def test_a_pool_settles_on_the_tenants_own_curve_where_a_shared_one_has_its_id(make: Make) -> None:
    world = make()
    twin = dataclasses.replace(CURVE, header=dataclasses.replace(CURVE.header, curve_id="twin"))
    record_curve(world.database.app, world.tenant, dump_curve(twin), "test")
    world.pool(curve_id="twin")
    record_shared_curve(world.database.owner, dump_curve(dataclasses.replace(twin, t_0=1.0)))
    world.send(a())
    world.bill("2.49", TEN)
    world.settle()
    [(seconds,)] = world.query("SELECT (details->>'shared_seconds')::float FROM charges WHERE quality IS NOT NULL")
    # The prompt's step and 100 more, of 0.010 s each, alone.
    assert seconds == pytest.approx(1.01, rel=1e-9)
