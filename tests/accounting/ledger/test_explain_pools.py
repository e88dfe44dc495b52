"""Is the derivation of a self-hosted charge shown, while it waits and once its hour is settled? The worked hour's figures."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from accounting.cli.explain import explain as command
from accounting.ledger.explain import explain
from accounting.ledger.read import charge_of
from accounting.ledger.settle import settle
from api.schemas_explain import Explanation
from tests.accounting.ledger.pool_world import PoolWorld, request
from tests.conftest import Database

pytestmark = pytest.mark.storage
TEN = "01T10"
A = request("A", "10:59:56.9", "10:59:57", "10:59:59")
B = request("B", "10:59:57.9", "10:59:58", "11:00:02", usage={"cache_read_tokens": 800, "output_tokens": 201})
C = request("C", "10:30:00", None, "10:30:05", status="error", usage={"input_tokens": 500, "output_tokens": 0})


@pytest.fixture(scope="module")
def world(database: Database) -> PoolWorld:
    made = PoolWorld.make(database)
    made.send(A, B, C)
    made.bill("2.49", TEN)
    made.settle()
    return made


def test_a_settled_charge_shows_its_seconds_and_its_part_of_the_bill(world: PoolWorld) -> None:
    found = explain(world.database.app, world.tenant, "A")
    [part] = found["pools"]
    assert (part["pool_id"], part["hour"], part["curve_id"]) == ("pool-1", "2026-10-01T10:00Z", "worked")
    assert (part["policy"], part["quality"], part["status"]) == ("switch", "measured", "priced")
    costs = [part[f"{name}_cost"] for name in ("direct", "gap", "attributed", "idle", "fully_loaded")]
    assert costs == [
        "0.000553937820207",
        "0.002279852700507",
        "0.002833790520714",
        "1.256628663130026",
        "1.25946245365074",
    ]
    assert part["own_decode_seconds"] == pytest.approx(0.020505, rel=1e-12)
    assert part["shared_seconds"] == pytest.approx(0.759368956926082, rel=1e-11)
    hour = part["pool_hour"]
    assert (hour["bill"], hour["direct"], hour["best_batch"]) == ("2.49", "0.001095153863712", 4)
    assert (hour["replica_seconds"], hour["in_flight_seconds"]) == (3_600.0, 8.1)
    assert found["outcome"]["effective_cost"] == "0.002833790520714"
    assert (found["estimate"], found["outcome"]["list_cost"]) == (None, None)


@pytest.mark.parametrize("event_id", ["A", "B", "C"])
def test_the_api_answers_with_the_same_keys(world: PoolWorld, event_id: str) -> None:
    found = explain(world.database.app, world.tenant, event_id)
    shown = Explanation.model_validate(found).model_dump(by_alias=True, mode="json")
    for part, answered in zip(found["pools"], shown["pools"], strict=True):
        assert set(part) == set(answered)
        assert set(part["pool_hour"]) == set(answered["pool_hour"])


def test_the_charge_that_is_read_back_is_the_attributed_cost(world: PoolWorld) -> None:
    found = charge_of(world.database.app, world.tenant, "A")
    assert (found["status"], found["basis"], found["effective_cost"]) == ("priced", "attributed", "0.002833790520714")
    assert (found["list_cost"], found["sku_price_id"], found["components"]) == (None, None, [])


def test_a_request_without_evidence_of_steps_costs_nothing_and_says_why(world: PoolWorld) -> None:
    [part] = explain(world.database.app, world.tenant, "C")["pools"]
    assert (part["reason"], part["direct_cost"], part["quality"]) == ("no_evidence_of_steps", "0", None)


def test_the_command_prints_it(world: PoolWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in world.database.env.items():
        monkeypatch.setenv(name, value)
    printed = CliRunner().invoke(command, ["A", "--tenant", world.tenant.tenant]).output
    assert "pool        pool-1 2026-10-01T10:00Z, curve worked, policy switch, measured\n" in printed
    assert (
        "  seconds   0.800873957 = own prefill 0.021 + own decode 0.020505 + shared 0.759368957 + experts 0\n"
        in printed
    )
    assert "direct 0.000553937820207 + gap 0.002279852700507 = attributed 0.002833790520714" in printed


def test_a_waiting_event_has_an_estimate_that_stands_in_no_total(world: PoolWorld) -> None:
    """Own 0.041505 s of a prompt of 1,000 and 100 steps; 101 steps of 0.010 s shared by R* = 4; of 3,600 s for 2.49 USD.

    0.041505 + 0.2525 = 0.294005 s; times 2.49 / 3,600 = 0.000203353458333...
    """
    world.send(request("waits", "12:00:00", "12:00:01", "12:00:03"))
    found = explain(world.database.app, world.tenant, "waits")
    assert found["outcome"]["status"] == "pending_settlement"
    assert found["outcome"]["effective_cost"] is None
    assert found["estimate"]["cost"] == "0.000203353458333"
    summary = settle(world.database.app, world.tenant)
    assert summary["subjects"] == {"pool-1": 1}
    assert summary["estimates"] == {
        "pool-1": {"cost": "0.000203353458333", "billing_currency": "USD", "events": 1, "without": 0}
    }
    assert world.query("SELECT sum(effective_cost) FROM ledger WHERE subject_id = 'waits'") == [(None,)]
