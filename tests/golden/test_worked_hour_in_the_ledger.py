"""Is the hour of worked_hour/README.md, sent through the API's pipeline and settled, the one by hand to the last digit?"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.accounting.ledger.pool_world import PoolWorld, request
from tests.conftest import Database

pytestmark = pytest.mark.storage
EXPECTED = json.loads((Path(__file__).parent / "worked_hour" / "expected.json").read_text())
TEN, ELEVEN = "01T10", "01T11"
A = request("A", "10:59:56.9", "10:59:57", "10:59:59", user_id="ann")
B = request(
    "B", "10:59:57.9", "10:59:58", "11:00:02", user_id="bob", usage={"cache_read_tokens": 800, "output_tokens": 201}
)
C = request("C", "10:30:00", None, "10:30:05", status="error", usage={"input_tokens": 500, "output_tokens": 0})
MINOR = Decimal("1e-15")


@pytest.fixture(scope="module")
def world(database: Database) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, B, C)
    made.bill("2.49", TEN, ELEVEN)
    made.settle()
    return made


def test_each_event_owes_its_direct_share_and_its_part_of_the_gap(world: PoolWorld) -> None:
    assert world.costs(TEN) == {"A": 2_833_790_520_714, "B": 2_768_709_479_286, "C": 0}


@pytest.mark.parametrize(("basis", "name"), [("direct_cost", "direct"), ("fully_loaded_cost", "fully_loaded")])
def test_the_other_bases_stand_beside(world: PoolWorld, basis: str, name: str) -> None:
    by_hand = {event: EXPECTED["hour_10"][name][event] for event in ("A", "B")}
    assert world.costs(TEN, basis) == by_hand | {"C": 0}


def test_the_hours_own_lines_are_gap_and_idle(world: PoolWorld) -> None:
    assert world.hour_line(TEN, "gap") == 0
    assert world.hour_line(TEN, "gap", "direct_cost") == 4_507_346_136_288 * MINOR
    assert world.hour_line(TEN, "idle") == 2_484_397_500_000_000 * MINOR
    assert world.hour_line(TEN, "idle", "fully_loaded_cost") == 0


@pytest.mark.parametrize("hour", [TEN, ELEVEN])
def test_every_basis_adds_up_to_the_bill(world: PoolWorld, hour: str) -> None:
    assert world.totals(hour) == {Decimal("2.49")}


def test_the_request_that_crosses_the_edge_owes_the_next_hour_too(world: PoolWorld) -> None:
    assert world.costs(ELEVEN, "direct_cost") == {"B": 706_540_958_333}
    assert world.costs(ELEVEN) == {"B": 706_540_958_333 + 676_792_375_000}
    assert world.hour_line(ELEVEN, "idle") == 2_488_616_666_666_667 * MINOR


def test_the_settled_hour_is_noted_with_its_terms(world: PoolWorld) -> None:
    [row] = world.query(
        "SELECT bill, direct, gap, idle, underfill, unproven_us, in_flight_us, idle_us, best_batch, requests, charged, unpriced, "
        "utilisation FROM settled_pool_hours WHERE hour = '2026-10-01 10:00+00'"
    )
    assert row[:5] == (
        Decimal("2.49"),
        Decimal("0.001095153863712"),
        Decimal("0.004507346136288"),
        Decimal("2.4843975"),
        Decimal("0.000699845613712"),
    )
    assert row[5:12] == (5_000_000, 8_100_000, 3_591_900_000, 4, 3, 2, 0)
    assert row[12] == pytest.approx(0.000158758333333, rel=1e-9)


def test_a_charge_says_what_it_was_worked_out_from(world: PoolWorld) -> None:
    [(policy, quality, details)] = world.query(
        "SELECT policy, quality, details FROM charges WHERE charge_id LIKE 'A:0@%'"
    )
    assert (policy, quality, details["curve_id"], details["hour"]) == (
        "switch",
        "measured",
        "worked",
        "2026-10-01T10:00Z",
    )
    assert details["share_seconds"] == pytest.approx(0.8008739569260820, rel=1e-11)
    assert details["prefill_seconds"] == pytest.approx(0.010 + 0.021, rel=1e-11)
    assert details["mean_batch"] == pytest.approx(1.330051736758, rel=1e-10)
    assert (details["direct_cost"], details["gap_cost"]) == ("0.000553937820207", "0.002279852700507")


def test_the_events_are_priced_once_and_nothing_waits(world: PoolWorld) -> None:
    assert world.statuses() == {"priced": 3}


def test_running_again_appends_nothing(world: PoolWorld) -> None:
    assert world.settle() == 0
