"""Do shares, gap and idle add up to the bill for any pool and any log, and does losing a request show?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.errors import MoneyError
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.hour import settle_hour, total_of
from accounting.selfhosted.pool import HOUR_US, Cells, Pool
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from tests.accounting.selfhosted.replay import curve

START = 1_790_000_000_000_000 // HOUR_US * HOUR_US
HOURS = 3
Row = tuple[int, ...]

rows = st.lists(
    st.tuples(
        st.integers(-1, 3),  # Replica; 3 has no bill, -1 is unknown.
        st.integers(-HOUR_US // 60, HOURS * HOUR_US),  # Received.
        st.one_of(st.none(), st.integers(-20_000, 5_000_000)),  # First token after that; clocks may differ.
        st.one_of(st.none(), st.integers(-20_000, HOUR_US)),  # End after the first token.
        st.integers(1, 30_000),  # Context.
        st.integers(-1, 30_000),  # Cached, cut to the context.
        st.integers(0, 3_000),  # Output.
        st.booleans(),
    ),
    max_size=12,
)
pools = st.builds(
    Pool,
    token_budget=st.sampled_from([512, 2_048]),
    max_batch=st.sampled_from([1, 8, 256]),
    order=st.sampled_from(["decode_first", "prefill_first"]),
    kv_capacity_tokens=st.sampled_from([None, 2_000, 50_000]),
    role=st.sampled_from(["mixed", "prefill", "decode"]),
    outside=st.sampled_from(["flag", "refuse"]),
)


def as_requests(drawn: list[tuple[Any, ...]], known_replicas: bool) -> Requests:
    def ints(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    first = [NO_TIME if row[2] is None else START + row[1] + row[2] for row in drawn]
    end = [NO_TIME if row[3] is None else START + row[1] + (row[2] or 0) + row[3] for row in drawn]
    return Requests(
        request_id=np.array([f"r{at}" for at in range(len(drawn))], dtype=object),
        replica=ints([max(row[0], 0) if known_replicas else row[0] for row in drawn]),
        received_at=ints([START + row[1] for row in drawn]),
        prefill_started_at=np.full(len(drawn), NO_TIME),
        first_token_at=ints(first),
        completed_at=ints(end),
        context_tokens=ints([row[4] for row in drawn]),
        cached_tokens=ints([min(row[5], row[4]) for row in drawn]),
        output_tokens=ints([row[6] for row in drawn]),
        decode_steps=np.full(len(drawn), UNKNOWN),
        positions=np.full(len(drawn), UNKNOWN),
        shared_tokens=np.zeros(len(drawn), np.int64),
        failed=np.array([row[7] for row in drawn], np.bool_),
    )


def conserved(found: Attribution, requests: Requests, bills: list[int]) -> None:
    """Everything that must hold of any attribution."""
    assert (found.in_flight_us + found.idle_us == found.capacity_us).all()
    assert (found.idle_us >= 0).all()
    assert (found.unproven_us >= 0).all()
    assert (found.lines.share_ps >= 0).all()
    for hour, bill in enumerate(bills):
        settled = settle_hour(found, hour, bill, requests.request_id, best_batch=8)
        settled.check()
        unallocated = settled.unallocated_gap + settled.unallocated_idle
        assert total_of(settled.fully_loaded_cost) + unallocated == bill
        assert settled.idle >= 0


def _any_log(
    drawn: list[tuple[Any, ...]], pool: Pool, replicas: int, known: bool, policy: Any, bills: list[int]
) -> None:
    requests = as_requests(drawn, known)
    cells = Cells.of_hours([START + hour * HOUR_US for hour in range(HOURS)], replicas)
    found = attribute(curve(), pool, requests, cells, policy)
    conserved(found, requests, bills)
    again = attribute(curve(), pool, requests, cells, policy)
    assert np.array_equal(found.lines.share_ps, again.lines.share_ps)


any_log = given(
    rows,
    pools,
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(["switch", "equal"]),
    st.lists(st.integers(0, 10**20), min_size=HOURS, max_size=HOURS),
)
test_shares_gap_and_idle_are_the_bill = settings(max_examples=120, deadline=None)(any_log(_any_log))
test_shares_gap_and_idle_are_the_bill_ten_thousand_times = pytest.mark.slow(
    settings(max_examples=10_000, deadline=None)(any_log(_any_log))
)


def three() -> Requests:
    second = 1_000_000
    return as_requests(
        [(0, 10 * second + at, 50_000, second, 1_000, 0, 51, False) for at in (0, 300_000, 600_000)],
        known_replicas=True,
    )


POOL = Pool(token_budget=2_048, max_batch=8)
CELLS = Cells.of_hours([START], 1)


def test_a_line_that_is_lost_breaks_the_bill() -> None:
    found = attribute(curve(), POOL, three(), CELLS)
    settled = settle_hour(found, 0, 10**15, three().request_id)
    settled.check()
    lost = replace(settled, direct_cost=settled.direct_cost[:2])
    with pytest.raises(MoneyError, match=r"direct=.*its lines add up to"):
        lost.check()


def test_a_request_lost_on_one_road_only_breaks_the_bill() -> None:
    found = attribute(curve(), POOL, three(), CELLS)
    without = attribute(curve(), POOL, three().take(np.array([0, 1])), CELLS)
    broken = replace(found, idle_us=without.idle_us)
    with pytest.raises(MoneyError, match="are not the 3600000000 us paid for"):
        settle_hour(broken, 0, 10**15, three().request_id)


def test_an_hour_without_requests_leaves_its_bill_unallocated() -> None:
    found = attribute(curve(), POOL, three().take(np.array([], np.int64)), CELLS)
    settled = settle_hour(found, 0, 2_490_000_000_000_001, three().request_id)
    assert (settled.direct, settled.gap, settled.idle) == (0, 0, 2_490_000_000_000_001)
    assert (settled.unallocated_gap, settled.unallocated_idle) == (0, 2_490_000_000_000_001)


def test_an_hour_of_unproven_work_alone_leaves_its_gap_unallocated() -> None:
    failed = replace(three(), failed=np.ones(3, np.bool_), first_token_at=np.full(3, NO_TIME))
    settled = settle_hour(attribute(curve(), POOL, failed, CELLS), 0, 3_600_000_000, failed.request_id)
    assert (settled.direct, settled.gap, settled.unallocated_gap, settled.unproven) == (
        0,
        1_650_000,
        1_650_000,
        1_650_000,
    )


def test_the_hours_of_a_request_do_not_depend_on_which_are_settled() -> None:
    requests = as_requests([(0, HOUR_US - 2_000_000, 50_000, 4_000_000, 1_000, 0, 201, False)], known_replicas=True)
    both = attribute(curve(), POOL, requests, Cells.of_hours([START, START + HOUR_US], 1))
    later = attribute(curve(), POOL, requests, Cells.of_hours([START + HOUR_US], 1))
    assert both.lines.share_ps[1] == later.lines.share_ps[0]


def test_no_request_without_a_bill_is_charged() -> None:
    requests = replace(three(), replica=np.array([0, 7, 0]))
    assert attribute(curve(), POOL, requests, CELLS).reason.tolist() == [0, 6, 0]
