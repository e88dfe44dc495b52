"""Do hours that have a step ledger stay exact whatever the ledger lacks, comes late or is taken back?

On a bill of 3.60 a picosecond costs 10^-15. The curve is that of the worked hour: a prompt of 1,000 tokens alone in a step takes
0.010 + 0.021 = 0.031 s, a decode at 1,000 tokens in the cache 0.0102001 s.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.reports import ReportQuery, run
from accounting.selfhosted.imports.read_steps import read_steps
from accounting.selfhosted.pool_settings import Membership
from accounting.storage.engine import transaction
from accounting.storage.pool_steps import RecordedSteps, listed_steps, record_steps, withdraw_steps
from accounting.storage.pools import record_member
from tests.accounting.ledger.pool_world import POOL, START, PoolWorld, moment, request
from tests.conftest import Database
from tests.step_ledgers import Step, content, decode, prefill

pytestmark = [pytest.mark.storage, pytest.mark.one_server]
TEN, ELEVEN = "01T10", "01T11"
BILL = Decimal("3.60")
OUT = {"output_tokens": 2}
A = request("a", "10:00:00", "10:00:00.031", "10:00:00.050", usage=OUT)
B = request("b", "10:30:00", "10:30:00.031", "10:30:00.0412001", usage=OUT)
STEPS: list[Step] = [
    ("10:00:00", 31_000_000, False, [prefill("a", 1_000)]),
    ("10:00:00.032", 12_000_000, False, [decode("a", 1_000)]),
]
SHARE = 31_000_000_000 + 10_200_100_000
Make = Callable[..., PoolWorld]


@pytest.fixture
def make(database: Database) -> Make:
    """Makes a tenant with one pool and a bill of the hour from ten."""

    def made(*events: dict[str, object], replicas: tuple[str, ...] = ("r0",), **settings: object) -> PoolWorld:
        world = PoolWorld.make(database, replicas, **settings)
        world.send(*events)
        world.bill("3.60", TEN)
        return world

    return made


def record(
    world: PoolWorld, steps: list[Step] = STEPS, replica: str = "r0", name: str = "steps.arrow"
) -> RecordedSteps:
    return record_steps(world.database.app, world.tenant, POOL, replica, read_steps(content(steps)), name, "test")


def withdraw(world: PoolWorld, hour: str, until: str) -> int:
    return withdraw_steps(world.database.app, world.tenant, POOL, "r0", moment(hour), moment(until), "test")


def qualities(world: PoolWorld) -> dict[str, str]:
    """Event -> quality of its newest line."""
    rows = world.query("SELECT DISTINCT ON (subject_id) subject_id, quality FROM charges WHERE subject_kind = 'event' AND "
                       "basis = 'attributed' ORDER BY subject_id, created_at DESC, charge_id DESC")  # fmt: skip
    return dict(rows)


def test_a_settled_hour_that_gets_a_ledger_is_settled_anew_once(make: Make) -> None:
    world = make(A, B)
    world.settle()
    assert qualities(world) == {"a": "measured", "b": "measured"}
    before = world.costs(TEN, "direct_cost")["b"]
    record(world, [STEPS[0]])
    world.settle()
    assert world.costs(TEN, "direct_cost") == {"a": 31_000_000_000, "b": before}
    assert (qualities(world), world.totals(TEN)) == ({"a": "exact", "b": "measured"}, {BILL})
    assert world.settle() == 0


def test_a_ledger_taken_back_leaves_the_shares_of_the_log(make: Make) -> None:
    world = make(A)
    world.settle()
    before = world.costs(TEN)
    record(world, [STEPS[0]])
    world.settle()
    assert world.costs(TEN, "direct_cost") == {"a": 31_000_000_000}
    assert withdraw(world, TEN, ELEVEN) == 1
    world.settle()
    assert (world.costs(TEN), world.totals(TEN)) == (before, {BILL})
    assert world.query("SELECT variance FROM settled_pool_hours") == [(None,)]


def test_a_request_after_the_last_recorded_step_keeps_its_share_of_the_log(make: Make) -> None:
    """b alone: 1,000 new tokens and one decode: 0.031 + 0.0102001 s by the sweep too."""
    world = make(A, B)
    record(world)
    world.settle()
    assert qualities(world) == {"a": "exact", "b": "measured"}
    assert world.costs(TEN, "direct_cost")["b"] == pytest.approx(41_200_100_000, rel=1e-6)


def test_a_replica_without_a_ledger_keeps_the_shares_of_the_log(make: Make) -> None:
    world = make(
        A, request("c", "10:00:00", "10:00:00.031", "10:00:00.050", replica="r1", usage=OUT), replicas=("r0", "r1")
    )
    record(world)
    world.settle()
    assert qualities(world) == {"a": "exact", "c": "measured"}
    assert world.totals(TEN) == {BILL}


def test_a_step_may_name_the_id_of_the_response(make: Make) -> None:
    world = make(request("e", "10:00:00", "10:00:00.031", "10:00:00.050", usage=OUT, response_id="a"))
    record(world)
    world.settle()
    assert world.costs(TEN, "direct_cost") == {"e": SHARE}
    assert world.hour_line(TEN, "unlogged") == 0


def test_a_response_id_that_two_events_have_names_neither(make: Make) -> None:
    twins = [
        request(name, "10:00:00", "10:00:00.031", "10:00:00.050", usage=OUT, response_id="a") for name in ("e", "f")
    ]
    world = make(*twins)
    record(world)
    world.settle()
    assert world.reasons() == {"not_in_step_ledger"}
    assert world.hour_line(TEN, "unlogged", "direct_cost") == SHARE * Decimal("1e-15")
    assert world.totals(TEN) == {BILL}


def test_the_ledger_says_the_replica_and_the_tokens_that_the_log_lacks(make: Make) -> None:
    bare = request("a", "10:00:00", "10:00:00.031", "10:00:00.050", usage={**OUT, "cache_read_tokens": None})
    del bare["replica"]
    world = make(bare, replicas=("r0", "r1"))
    record(world)
    world.settle()
    assert (qualities(world), world.costs(TEN, "direct_cost")) == ({"a": "exact"}, {"a": SHARE // 2})
    assert (world.query("SELECT fluid FROM settled_pool_hours"), world.totals(TEN)) == ([(False,)], {BILL})


def test_a_request_that_only_the_ledger_knows_is_in_flight_as_long_as_its_steps(make: Make) -> None:
    """From 10:00:00 to .044, alone: gap 0.044 - 0.0412001 s, all of it its own."""
    world = make()
    record(world)
    world.settle()
    assert world.hour_line(TEN, "unlogged", "direct_cost") == SHARE * Decimal("1e-15")
    assert world.hour_line(TEN, "unlogged") == 44_000_000_000 * Decimal("1e-15")
    assert world.totals(TEN) == {BILL}
    world.send(A)
    world.settle()
    assert world.costs(TEN, "direct_cost") == {"a": SHARE}
    assert (world.hour_line(TEN, "unlogged"), world.totals(TEN)) == (0, {BILL})


def test_a_request_across_the_hours_edge_is_charged_in_each_by_its_steps_there(make: Make) -> None:
    world = make(request("x", "10:59:59.9", "10:59:59.931", "11:00:00.100", usage={"output_tokens": 3}))
    world.bill("3.60", ELEVEN)
    record(world, [
        ("10:59:59.900", 31_000_000, False, [prefill("x", 1_000)]),
        ("10:59:59.995", 12_000_000, False, [decode("x", 1_000)]),
        ("11:00:00.010", 12_000_000, False, [decode("x", 1_001)]),
    ])  # fmt: skip
    world.settle()
    assert world.costs(TEN, "direct_cost") == {"x": SHARE}
    assert world.costs(ELEVEN, "direct_cost") == {"x": 10_200_200_000}
    assert world.totals(TEN) == world.totals(ELEVEN) == {BILL}


def test_an_hour_that_the_ledger_passed_over_has_steps_of_nobody(make: Make) -> None:
    """The file reaches from ten to eleven, where the log has a request at half past ten that no step names."""
    world = make(A, B)
    record(world, [*STEPS, ("11:30:00", 31_000_000, False, [prefill("later", 1_000)])])
    world.settle()
    assert world.reasons() == {"not_in_step_ledger"}
    assert [
        one["hour"] for one in listed_steps(world.database.app, world.tenant, POOL, moment(TEN), moment("01T12"))
    ] == [
        "2026-10-01T10:00:00Z",
        "2026-10-01T11:00:00Z",
    ]


def test_a_closed_month_keeps_what_it_was_settled_by(make: Make) -> None:
    world = make(A)
    world.settle()
    before = world.costs(TEN)
    record(world)
    world.settle(closed=lambda month: month.month == 10)
    assert world.costs(TEN) == before
    assert world.query("SELECT variance, exact FROM settled_pool_hours") == [(None, 0)]
    assert world.settle(closed=lambda month: month.month == 10) == 0


def test_a_request_beyond_the_measured_range_stays_refused_where_the_pool_refuses(make: Make) -> None:
    world = make(
        request("a", "10:00:00", "10:00:01", "10:00:03", usage={"input_tokens": 300_000}), outside_range="refuse"
    )
    record(world, [("10:00:00", 31_000_000, False, [prefill("a", 1_000)])])
    world.settle()
    assert (world.reasons(), world.totals(TEN)) == ({"outside_measured_range"}, {BILL})


def test_the_report_shows_variance_and_what_nobody_logged(make: Make) -> None:
    """a: 0.031 + 0.012 measured, 0.0412001 standard."""
    world = make(A)
    record(world)
    world.bill("3.60", ELEVEN)
    world.settle()
    found = run(world.database.app, world.tenant, "pool-bill", ReportQuery(START.date(), moment("02T00").date()))
    [row] = found.rows
    assert (row["hours"], row["ledger_hours"], row["exact"]) == (2, 1, 1)
    assert (row["variance"], row["unlogged"]) == (Decimal("0.0000017999"), 0)
    assert "took longer than the curve says" in row["gap_reason"]


def test_the_same_steps_again_change_nothing(make: Make) -> None:
    world = make()
    first, again = record(world), record(world, name="other.arrow")
    assert (first.written, first.unchanged, again.written, again.unchanged) == (1, 0, 0, 1)
    assert world.query("SELECT count(*) FROM pool_steps") == [(1,)]
    assert world.query("SELECT actor, action, subject FROM audit_log WHERE action = 'pool.steps'") == [
        ("test", "pool.steps", POOL)
    ]


def test_steps_that_overlap_other_ones_are_refused(make: Make) -> None:
    world = make()
    record(world)
    later: list[Step] = [("10:00:00.043", 12_000_000, False, [decode("a", 1_000)])]
    with pytest.raises(Conflict, match=r"start_ns=2026-10-01T10:00:00\.043.*'steps\.arrow' has other steps of 'r0'"):
        record(world, later)
    assert record(world, [("10:00:00.044", 12_000_000, False, [decode("a", 1_000)])]).written == 1


def test_the_steps_of_one_replica_are_not_those_of_another(make: Make) -> None:
    world = make(replicas=("r0", "r1"))
    record(world)
    with pytest.raises(Conflict, match="replica='r1': the same steps are those of 'r0' already"):
        record(world, replica="r1")


@pytest.mark.parametrize("replica", ["r0", "stranger"])
def test_steps_outside_of_the_replicas_time_in_the_pool_are_refused(make: Make, replica: str) -> None:
    world = make(replicas=())
    member = Membership(POOL, "r0", START, moment("01T10").replace(microsecond=32_000))
    record_member(world.database.app, world.tenant, member, "test")
    row = {"r0": 1, "stranger": 0}[replica]
    with pytest.raises(InvalidInput, match=f"start_ns of row {row}=.*: the replica is not in the pool then"):
        record(world, replica=replica)
    with transaction(world.database.app, world.tenant.tenant) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pool_steps").scalar_one() == 0


def test_an_unknown_pool_or_ledger_is_named(make: Make) -> None:
    world = make()
    with pytest.raises(NotFound, match="pool_id='none'"):
        record_steps(world.database.app, world.tenant, "none", "r0", read_steps(content(STEPS)), "x", "test")
    with pytest.raises(NotFound, match="replica='r0': no step ledger"):
        withdraw(world, TEN, ELEVEN)


FOUND: list[Step] = [
    ("10:00:00", 20_000_000, False, [prefill("a", 200, 0, 1.0, "xy")]),
    ("10:00:00.020", 20_000_000, False, [prefill("b", 100, 100, 1.0, "xz")]),
]
PAIR = [
    request("a", "10:00:00", "10:00:00.020", "10:00:00.020", usage={"input_tokens": 200, "output_tokens": 1}),
    request("b", "10:00:00", "10:00:00.040", "10:00:00.040", usage={"input_tokens": 200, "output_tokens": 1}),
]


@pytest.mark.parametrize(
    ("policy", "steps", "said", "costs"),
    [
        ("first_pays", FOUND, None, (14_040_000_000, 12_050_000_000)),
        ("amortised", FOUND, "amortised", (13_035_000_000, 13_055_000_000)),
        (
            "amortised",
            [(*step[:3], [part._replace(blocks=()) for part in step[3]]) for step in FOUND],
            "first_pays",
            (14_040_000_000, 12_050_000_000),
        ),
    ],
)
def test_a_shared_prefix_is_paid_by_the_first_or_amortised_where_the_ledger_names_its_blocks(
    make: Make, policy: str, steps: list[Step], said: str | None, costs: tuple[int, int]
) -> None:
    """a: 0.010 + 0.004 + 0.00004; b: 0.010 + 0.002 + 0.00003 + 0.00002. The block x of both: 0.002 + 0.00001, half of it 0.001005."""
    world = make(*PAIR, prefix_policy=policy)
    record(world, steps)
    world.settle()
    assert world.costs(TEN, "direct_cost") == dict(zip("ab", costs, strict=True))
    assert world.totals(TEN) == {BILL}
    stated = world.query("SELECT DISTINCT details ->> 'prefix_policy' FROM charges WHERE quality = 'exact'")
    assert stated == [(said,)]
