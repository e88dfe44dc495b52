"""Which shares of the log stand beside a step ledger's, where it records only a part of the time or of the replicas?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.ledger_cover import Covered
from accounting.selfhosted.ledger_steps import Steps, attribute_steps
from accounting.selfhosted.pool import HOUR_US, Cells, Pool
from accounting.selfhosted.reasons import EXACT, MEASURED, REASONS
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution
from tests.accounting.selfhosted.test_conservation import HOURS, START, as_requests, conserved, pools, rows
from tests.accounting.selfhosted.worked import CURVE

SECOND = 1_000_000


def _requests(*spans: tuple[int, float, float]) -> Requests:
    """(replica, first token, end) in seconds; each came in a second before, with 1,000 tokens, and gave out 11."""
    count = len(spans)
    replica, first, end = (np.array(column) for column in zip(*spans, strict=True))
    first, end = (np.rint(one * SECOND).astype(np.int64) for one in (first, end))
    full = np.full(count, 1_000)
    return Requests(
        request_id=np.array([f"q{at}" for at in range(count)]),
        replica=replica.astype(np.int64),
        received_at=first - SECOND,
        prefill_started_at=np.full(count, NO_TIME),
        first_token_at=first,
        completed_at=end,
        context_tokens=full,
        cached_tokens=np.zeros(count, np.int64),
        output_tokens=np.full(count, 11),
        decode_steps=np.full(count, UNKNOWN),
        positions=np.full(count, UNKNOWN),
        shared_tokens=np.zeros(count, np.int64),
        failed=np.zeros(count, np.bool_),
    )


def _steps(*parts: tuple[float, int]) -> Steps:
    """(second, request) of steps of one decode each, 20 ms long, on replica 0."""
    count = len(parts)
    moments, request = (np.array(column) for column in zip(*parts, strict=True))
    ones = np.ones(count, np.int64)
    return Steps(
        replica=0 * ones,
        started_at=np.rint(moments * SECOND).astype(np.int64),
        seconds=np.full(count, 0.02),
        kv_blocked=np.zeros(count, np.bool_),
        step=np.arange(count),
        request=request.astype(np.int64),
        new_tokens=ones,
        past_tokens=999 * ones,
        prompt=np.zeros(count, np.bool_),
        held=np.ones(count),
    )


def _found(requests: Requests, steps: Steps, hours: int = 1, covered: Covered | None = None) -> Attribution:
    cells = Cells.of_hours([hour * HOUR_US for hour in range(hours)], replicas=2)
    return attribute_steps(CURVE, Pool(2_048, 8), requests, cells, steps, covered=covered)


def _lines(found: Attribution) -> list[tuple[int, int, int]]:
    """(hour, request, quality)."""
    lines = found.lines
    return list(zip(lines.hour.tolist(), lines.row.tolist(), lines.quality.tolist(), strict=True))


def test_one_decode_is_standard_and_the_rest_of_its_time_variance() -> None:
    """0.010 + 0.0001 + 0.0000001 x 1,000 = 0.0102 s of 0.02."""
    found = _found(_requests((0, 10, 12)), _steps((10, 0)))
    assert found.lines.share_ps.tolist() == [10_200_000_000]
    assert found.variance_ps is not None
    assert found.variance_ps.tolist() == [9_800_000_000]


def test_another_replica_and_the_time_outside_keep_the_shares_of_the_log() -> None:
    requests = _requests((0, 10, 12), (1, 10, 12), (0, 30, 31), (0, 5, 6))
    found = _found(requests, _steps((8, 0), (20, 0)))
    assert _lines(found) == [(0, 0, EXACT), (0, 1, MEASURED), (0, 2, MEASURED), (0, 3, MEASURED)]


@pytest.mark.parametrize(("first", "reason"), [(14.6, "charged"), (15, "charged"), (15.4, "not_in_step_ledger")])
def test_the_larger_part_of_its_time_decides(first: float, reason: str) -> None:
    """Two seconds from `first`; the ledger records from 16 on."""
    found = _found(_requests((0, 17, 18), (0, first, first + 2)), _steps((16, 0), (20, 0)))
    assert REASONS[found.reason[1]] == reason


def test_between_two_ledgers_nothing_is_recorded() -> None:
    spans = Covered(np.array([0, 0]), np.array([8, 40]) * SECOND, np.array([20, 60]) * SECOND)
    found = _found(_requests((0, 10, 12), (0, 30, 31), (0, 50, 51)), _steps((10, 0)), covered=spans)
    assert [REASONS[one] for one in found.reason] == ["charged", "charged", "not_in_step_ledger"]


def test_of_a_request_across_the_edge_the_smaller_part_is_not_missed() -> None:
    """Ten steps over 4 seconds, one second before the edge: the ledger has all of them after it."""
    edge = HOUR_US // SECOND
    requests = _requests((0, edge - 1, edge + 3), (0, 10, 11))
    steps = _steps((9, 1), (edge - 0.5, 1), (edge + 0.1, 0), (edge + 3.5, 1))
    found = _found(requests, steps, hours=2)
    assert _lines(found) == [(0, 1, EXACT), (1, 0, EXACT), (1, 1, EXACT)]
    assert REASONS[found.reason[0]] == "charged"


def test_of_a_request_across_the_edge_the_larger_part_is_missed() -> None:
    """Three seconds before the edge and one after it; the ledger records on both sides and names no step of it."""
    edge = HOUR_US // SECOND
    requests = _requests((0, edge - 3, edge + 1), (0, 10, 11))
    found = _found(requests, _steps((9, 1), (edge - 0.5, 1), (edge + 2, 1)), hours=2)
    assert [REASONS[one] for one in found.reason] == ["not_in_step_ledger", "charged"]


drawn_steps = st.lists(
    st.tuples(
        st.integers(0, 3),  # Replica; 3 has no bill.
        st.integers(-HOUR_US // 60, HOURS * HOUR_US),  # Began.
        st.integers(0, 2_000_000),  # Microseconds measured.
        st.booleans(),  # Memory kept a request out.
        st.lists(
            st.tuples(
                st.integers(0, 11), st.integers(1, 2_000), st.integers(0, 30_000), st.booleans(), st.integers(0, 9)
            ),
            max_size=4,
        ),
    ),
    max_size=12,
)


def _any_ledger(
    log: list[tuple[Any, ...]], taken: list[tuple[Any, ...]], pool: Pool, replicas: int, policy: Any, bills: list[int]
) -> None:
    """Requests are those of the log; a part of another one is left out."""
    requests = as_requests(log, known_replicas=False)
    parts = [(at, *part) for at, step in enumerate(taken) for part in step[4] if part[0] < len(log)]
    columns = [np.array([part[at] for part in parts], np.int64) for at in range(6)]
    steps = Steps(
        replica=np.array([step[0] for step in taken], np.int64),
        started_at=np.array([START + step[1] for step in taken], np.int64),
        seconds=np.array([step[2] / 1e6 for step in taken], np.float64),
        kv_blocked=np.array([step[3] for step in taken], np.bool_),
        step=columns[0],
        request=columns[1],
        new_tokens=columns[2],
        past_tokens=columns[3],
        prompt=columns[4].astype(np.bool_),
        held=columns[5].astype(np.float64),
    )
    cells = Cells.of_hours([START + hour * HOUR_US for hour in range(HOURS)], replicas)
    found = attribute_steps(CURVE, pool, requests, cells, steps, policy)
    conserved(found, requests, bills)
    lines = found.lines
    assert len(set(zip(lines.hour.tolist(), lines.row.tolist(), strict=True))) == len(lines)
    named = {(int(steps.request[at]), int(steps.step[at])) for at in range(len(parts))}
    for hour, row, quality in _lines(found):
        if quality == EXACT:
            low = START + hour * HOUR_US
            assert any(one == row and low <= steps.started_at[step] < low + HOUR_US for one, step in named)
    if pool.outside == "flag" and found.variance_ps is not None:
        inside = (steps.started_at >= START) & (steps.started_at < START + HOURS * HOUR_US) & (steps.replica < replicas)
        exact = lines.share_ps[lines.quality == EXACT].sum() + found.variance_ps.sum()
        assert exact == pytest.approx(steps.seconds[inside].sum() * 1e12, abs=100 * (len(lines) + HOURS))


any_ledger = given(
    rows,
    drawn_steps,
    pools,
    st.integers(1, 3),
    st.sampled_from(["switch", "equal"]),
    st.lists(st.integers(0, 10**20), min_size=HOURS, max_size=HOURS),
)
test_with_a_ledger_shares_gap_and_idle_are_the_bill_and_shares_and_variance_the_measured_time = settings(
    max_examples=60, deadline=None
)(any_ledger(_any_ledger))
test_the_same_ten_thousand_times = pytest.mark.slow(
    settings(max_examples=10_000, deadline=None)(any_ledger(_any_ledger))
)
