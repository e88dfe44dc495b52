"""What binds a pool, by hand and in the simulator?"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.diagnosis import SETTINGS, Diagnosis, batches, diagnose
from accounting.selfhosted.memory import LayerGroup, Memory
from accounting.selfhosted.pool import Cells
from accounting.selfhosted.requests import Requests
from accounting.selfhosted.shares import Attribution, attribute
from accounting.selfhosted.spent import Spent
from accounting.selfhosted.steady import Targets
from accounting.selfhosted.workload import Workload
from tests.accounting.selfhosted.by_hand import CURVE, POOL, alone, workload
from tests.accounting.selfhosted.replay import curve, log, pool_of, whole
from tests.accounting.selfhosted.simulator import H200_8B, Replica, poisson

SECOND = 10**12


def told_of(found: Attribution, requests: Requests, best: int, free: int) -> Diagnosis:
    work = Workload.of(requests, np.unique(found.lines.row))
    capacity, idle = int(found.capacity_us.sum()), int(found.idle_us.sum())
    return diagnose(found.curve, Spent.of(found.lines), capacity, idle, work, best, free)


def test_the_terms_of_one_request_in_an_hour_add_up_to_the_hour() -> None:
    """101 steps of 0.005: at R* 10 and R_free 20 they would be 0.0505 and 0.02525. Own prefill 0.021005, own decode 0.016505; no gap.

    decode 0.016505 + 0.02525, kv 0.0505 - 0.02525, arrivals 3,600 - 0.54251 idle and 0.505 - 0.0505 of empty places.
    """
    requests = alone()
    found = attribute(CURVE, POOL, requests, Cells.of_hours([0], 1))
    told = told_of(found, requests, 10, 20)
    assert told.prefill == pytest.approx(0.021005 * SECOND, abs=2)
    assert told.decode == pytest.approx(0.041755 * SECOND, abs=2)
    assert told.kv == pytest.approx(0.02525 * SECOND, abs=2)
    assert told.arrivals == pytest.approx(3_599.91199 * SECOND, abs=2)
    assert told.gap == pytest.approx(0, abs=2)
    assert told.kv_reads == pytest.approx(0.015505 * SECOND, rel=1e-9)
    assert told.prefill + told.decode + (told.kv or 0) + told.arrivals + told.gap == told.capacity == 3_600 * SECOND
    assert (told.bound, told.setting) == ("arrivals", SETTINGS["arrivals"])


def test_a_batch_that_memory_allows_and_targets_do_not_is_refused() -> None:
    requests = alone()
    found = attribute(CURVE, POOL, requests, Cells.of_hours([0], 1))
    with pytest.raises(InvalidInput, match="best=21"):
        told_of(found, requests, 21, 20)


@pytest.mark.parametrize(
    ("prompt", "output", "rate", "changes", "best", "bound"),
    [
        (2_000, 30, 1e6, {"max_batch": 64}, 64, "prefill"),
        (200, 300, 1e6, {"max_batch": 64}, 64, "decode"),
        (200, 300, 1e6, {"max_batch": 64, "capacity": 2_500, "reserve": True}, 3, "kv"),
        (1_000, 200, 2.0, {"max_batch": 64}, 64, "arrivals"),
        (1_000, 200, 1e6, {"max_batch": 64, "host": 0.05}, 64, "gap"),
    ],
)
def test_what_the_simulator_is_bound_by_is_found_in_its_log(
    prompt: int, output: int, rate: float, changes: dict[str, Any], best: int, bound: str
) -> None:
    """Long prompts, long answers, a cache of 3 requests at their peak, 2 requests a second of some 17, 50 ms of host time a step."""
    jobs = poisson(random.Random(11), 400, rate, prompt, output)
    replica = Replica(H200_8B, **changes)
    replica.run(jobs)
    requests = log(jobs)
    found = attribute(curve(), pool_of(replica), requests, whole(requests))
    told = told_of(found, requests, best, 64)
    assert told.bound == bound
    assert told.prefill + told.decode + (told.kv or 0) + told.arrivals + told.gap == told.capacity


def test_long_answers_upon_long_contexts_are_bound_by_reading_the_cache() -> None:
    """16,000 tokens read at 3.4e-8 each are 0.54 ms a token; a step in full batches of 64 is 0.077 ms."""
    jobs = poisson(random.Random(11), 60, 1e6, 16_000, 3_000)
    for job in jobs:
        job.cached = job.context - 1
    replica = Replica(H200_8B, max_batch=64)
    replica.run(jobs)
    requests = log(jobs)
    told = told_of(attribute(curve(), pool_of(replica), requests, whole(requests)), requests, 64, 64)
    assert (told.bound, told.setting) == ("decode", SETTINGS["kv_reads"])


def test_the_cache_holds_fewer_than_the_targets_allow() -> None:
    """At 1,000 a step of R takes 0.005 + R * 0.00011: 9 within 6 ms; 5,250 tokens hold 5 of 1,050."""
    targets = Targets(itl_seconds=0.006)
    assert batches(CURVE, replace(POOL, kv_capacity_tokens=5_250), workload(), targets) == (5, 9)
    assert batches(CURVE, POOL, workload(), targets) == (9, 9)
    assert batches(CURVE, replace(POOL, kv_capacity_tokens=1_000), workload(), targets) is None
    assert batches(CURVE, replace(POOL, role="prefill"), workload(), targets) is None
    assert batches(CURVE, replace(POOL, max_batch=7), workload(), targets) == (7, 7)
    held = replace(CURVE, memory=Memory(5_250 * 64, 1, 1, (LayerGroup(4, 16),)))
    assert batches(held, POOL, workload(), targets) == (5, 9)


def test_where_nothing_decodes_full_steps_are_prefills() -> None:
    """50 steps of 0.005 in full batches of 10 are 0.025; the rest of their 0.5 s was empty."""
    spent = Spent(2.0, 2.0, 1.5, 0.0, 0.5, 0.0, 50.0, 50.0)
    told = diagnose(CURVE, spent, 2_000_000, 0, workload(output=1), 10, 10)
    terms = [told.prefill, told.decode, told.kv, told.arrivals, told.gap]
    assert terms == [1.525 * SECOND, 0, 0, 0.475 * SECOND, 0]


def test_a_pool_of_prompts_alone_is_told_by_prefill_and_idle_time() -> None:
    """2 s of prompts in 10 s of which 7 were idle: 1 s is gap; empty places of a batch mean nothing there."""
    spent = Spent(2.0, 2.0, 1.5, 0.0, 0.5, 0.0, 50.0, 50.0)
    told = diagnose(CURVE, spent, 10_000_000, 7_000_000, workload(), None, None)
    assert [told.prefill, told.decode, told.kv, told.arrivals, told.gap] == [2 * SECOND, 0, None, 7 * SECOND, SECOND]
    assert told.bound == "arrivals"
