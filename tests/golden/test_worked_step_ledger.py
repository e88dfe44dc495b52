"""Are the recorded steps of worked_step_ledger/README.md, imported and settled, the bill by hand to the last digit?"""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounting.storage.pool_steps import record_steps
from tests.accounting.ledger.pool_world import POOL, PoolWorld, request
from tests.conftest import Database
from tests.step_ledgers import decode, ledger, prefill

pytestmark = pytest.mark.storage
TEN = "01T10"
FOUR_OUT = {"output_tokens": 4}
A = request("A", "10:00:00.090", "10:00:00.132", "10:00:00.195", usage=FOUR_OUT)
B = request("B", "10:00:00.130", "10:00:00.156", "10:00:00.215", usage={"cache_read_tokens": 800, **FOUR_OUT})
C = request("C", "10:00:00.150", "10:00:00.170", "10:00:00.190", usage=FOUR_OUT)
STEPS = [
    ("10:00:00.100", 32_000_000, False, [prefill("A", 1_000)]),
    ("10:00:00.140", 16_000_000, False, [decode("A", 1_000), prefill("B", 200, 800)]),
    ("10:00:00.160", 10_000_000, False, [decode("A", 1_001), decode("B", 1_000)]),
    ("10:00:00.180", 11_000_000, True, [decode("A", 1_002, 3.0), decode("B", 1_001, 1.0)]),
    ("10:00:00.200", 10_350_400, False, [decode("B", 1_002), decode("X", 500)]),
]
MINOR = Decimal("1e-15")


@pytest.fixture(scope="module")
def world(database: Database, tmp_path_factory: pytest.TempPathFactory) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, B, C)
    made.bill("3.60", TEN)
    steps = ledger(tmp_path_factory.mktemp("golden") / "steps.arrow", STEPS)
    record_steps(database.app, made.tenant, POOL, "r0", steps, "steps.arrow", "test")
    made.settle()
    return made


@pytest.mark.parametrize(
    ("basis", "a", "b", "x"),
    [
        ("direct_cost", 49_100_600_000, 22_620_600_000, 5_150_100_000),
        ("effective_cost", 79_842_216_796, 36_783_233_795, 8_374_549_409),
        ("fully_loaded_cost", 2_299_455_843_728_414, 1_059_357_133_286_415, 241_187_022_985_171),
    ],
)
def test_each_request_owes_its_parts_of_the_recorded_steps(
    world: PoolWorld, basis: str, a: int, b: int, x: int
) -> None:
    assert world.costs(TEN, basis) == {"A": a, "B": b}
    assert world.hour_line(TEN, "unlogged", basis) == x * MINOR


def test_gap_and_idle_are_the_hours_own_lines(world: PoolWorld) -> None:
    assert world.hour_line(TEN, "gap", "direct_cost") == 48_128_700_000 * MINOR
    assert world.hour_line(TEN, "idle") == 3_599_875_000_000_000 * MINOR
    assert world.hour_line(TEN, "idle", "fully_loaded_cost") == 0


def test_every_basis_adds_up_to_the_bill(world: PoolWorld) -> None:
    assert world.totals(TEN) == {Decimal("3.60")}


def test_quality_is_exact_and_what_the_ledger_does_not_name_is_unpriced(world: PoolWorld) -> None:
    found = world.query("SELECT subject_id, charge_status, quality, reason FROM charges WHERE basis = 'attributed' "
                        "AND subject_kind = 'event' ORDER BY 1")  # fmt: skip
    assert found == [
        ("A", "priced", "exact", None),
        ("B", "priced", "exact", None),
        ("C", "unpriced", None, "not_in_step_ledger"),
    ]


def test_the_hour_keeps_its_efficiency_variance_and_what_nobody_logged(world: PoolWorld) -> None:
    [row] = world.query("SELECT variance, unlogged, exact, charged, unpriced, underfill FROM settled_pool_hours")
    assert row == (2_479_100_000 * MINOR, 5_150_100_000 * MINOR, 2, 2, 1, 27_500_000_000 * MINOR)
    [(gap,)] = world.query("SELECT details ->> 'efficiency_variance' FROM charges WHERE reason = 'gap'")
    assert gap == "0.0000024791"
    [(unlogged,)] = world.query("SELECT details -> 'request_ids' FROM charges WHERE reason = 'unlogged'")
    assert unlogged == ["X"]
