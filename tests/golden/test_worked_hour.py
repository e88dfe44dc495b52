"""Are the shares and the bill of worked_hour/README.md, worked out by hand, what the code finds?"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.hour import Settled, settle_hour, total_of
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.reasons import QUALITIES, REASONS
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from tests.accounting.selfhosted.worked import CURVE

EXPECTED = json.loads((Path(__file__).parent / "worked_hour" / "expected.json").read_text())
IDS = ["A", "B", "C"]
POOL = Pool(token_budget=2_048, max_batch=8, kv_capacity_tokens=100_000)


def at(text: str) -> int:
    return int(datetime.fromisoformat(f"2026-10-01T{text}").replace(tzinfo=UTC).timestamp() * 1_000_000)


def times(*texts: str | None) -> np.ndarray:
    return np.array([NO_TIME if text is None else at(text) for text in texts], np.int64)


def requests() -> Requests:
    return Requests(
        request_id=np.array(IDS),
        replica=np.zeros(3, np.int64),
        received_at=times("10:59:56.900", "10:59:57.900", "10:30:00"),
        prefill_started_at=times(None, None, None),
        first_token_at=times("10:59:57", "10:59:58", None),
        completed_at=times("10:59:59", "11:00:02", "10:30:05"),
        context_tokens=np.array([1_000, 1_000, 500]),
        cached_tokens=np.array([0, 800, 0]),
        output_tokens=np.array([101, 201, 0]),
        decode_steps=np.full(3, UNKNOWN),
        positions=np.full(3, UNKNOWN),
        shared_tokens=np.zeros(3, np.int64),
        failed=np.array([False, False, True]),
    )


@pytest.fixture(scope="module", params=["switch", "equal"])
def found(request: pytest.FixtureRequest) -> Attribution:
    return attribute(CURVE, POOL, requests(), Cells.of_hours([at("10:00:00"), at("11:00:00")], 1), request.param)


@pytest.fixture(scope="module")
def hour(found: Attribution) -> Settled:
    return settle_hour(found, 0, EXPECTED["hour_10"]["bill"], np.array(IDS), best_batch=4)


def by_id(settled: Settled, column: np.ndarray) -> dict[str, object]:
    return {IDS[row]: value for row, value in zip(settled.lines.row, column.tolist(), strict=True)}


def test_the_picoseconds_are_those_by_hand(hour: Settled) -> None:
    assert by_id(hour, hour.lines.share_ps) == EXPECTED["hour_10"]["share_ps"]


@pytest.mark.parametrize("name", ["own_prefill", "own_decode", "shared"])
def test_the_parts_of_a_share_are_those_by_hand(hour: Settled, name: str) -> None:
    assert by_id(hour, getattr(hour.lines, name)) == pytest.approx(EXPECTED["hour_10"][f"{name}_seconds"], rel=1e-11)


def test_the_mean_batch_is_the_one_by_hand(hour: Settled) -> None:
    assert by_id(hour, hour.lines.mean_batch) == pytest.approx(EXPECTED["hour_10"]["mean_batch"], rel=1e-10)


def test_time_in_flight_idle_and_unproven_is_that_by_hand(found: Attribution) -> None:
    for hour, name in enumerate(("hour_10", "hour_11")):
        assert (found.in_flight_us[hour], found.idle_us[hour]) == (
            EXPECTED[name]["in_flight_us"],
            EXPECTED[name]["idle_us"],
        )
    assert found.unproven_us.tolist() == [EXPECTED["hour_10"]["unproven_us"], 0]


@pytest.mark.parametrize("term", ["direct", "gap", "idle"])
def test_each_term_of_the_bill_is_the_one_by_hand(hour: Settled, term: str) -> None:
    assert by_id(hour, getattr(hour, f"{term}_cost")) | {"total": getattr(hour, term)} == EXPECTED["hour_10"][term]


def test_the_bases_are_those_by_hand(hour: Settled) -> None:
    assert by_id(hour, hour.attributed_cost) == EXPECTED["hour_10"]["attributed"]
    assert by_id(hour, hour.fully_loaded_cost) == EXPECTED["hour_10"]["fully_loaded"]
    assert total_of(hour.fully_loaded_cost) == EXPECTED["hour_10"]["bill"]
    hour.check()


def test_underfill_and_utilisation_are_those_by_hand(hour: Settled) -> None:
    assert hour.underfill == EXPECTED["hour_10"]["underfill"]
    assert hour.utilisation == pytest.approx(EXPECTED["hour_10"]["utilisation"], rel=1e-9)


def test_quality_and_reasons_are_those_by_hand(found: Attribution, hour: Settled) -> None:
    assert by_id(hour, np.array([QUALITIES[code] for code in hour.lines.quality])) == EXPECTED["hour_10"]["quality"]
    assert {"C": REASONS[found.reason[2]]} == EXPECTED["hour_10"]["not_charged"]


def test_the_next_hour_is_the_one_by_hand(found: Attribution) -> None:
    expected = EXPECTED["hour_11"]
    settled = settle_hour(found, 1, EXPECTED["hour_10"]["bill"], np.array(IDS), best_batch=4)
    assert by_id(settled, settled.lines.share_ps) == expected["share_ps"]
    for term in ("direct", "gap", "idle"):
        assert by_id(settled, getattr(settled, f"{term}_cost")) | {"total": getattr(settled, term)} == expected[term]
