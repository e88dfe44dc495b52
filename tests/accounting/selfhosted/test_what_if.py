"""How many replicas, and what would other setups cost, by hand and in the simulator?"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.capacity import replicas_needed
from accounting.selfhosted.curve import Domain, StepCurve, TableCurve
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.memory import LayerGroup, Memory
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.steady import Targets
from accounting.selfhosted.what_if import (
    BEHAVIOUR,
    DERIVED_KV,
    FLOOR,
    TABLE,
    Setup,
    disaggregated,
    effect,
    with_kv_ratio,
)
from accounting.selfhosted.workload import Workload
from tests.accounting.selfhosted.by_hand import CURVE, HEADER, POOL, workload
from tests.accounting.selfhosted.replay import curve
from tests.accounting.selfhosted.simulator import H200_8B, Replica, poisson

BASE = Setup("base", CURVE, POOL, Fraction(36))
ONE = Fraction(1)


@pytest.mark.parametrize(("busy", "replicas", "load"), [(ONE, 4, 0.9954375), (Fraction(4, 5), 5, 0.79635)])
def test_a_forecast_is_its_replica_seconds_rounded_up(busy: Fraction, replicas: int, load: float) -> None:
    """A request takes 0.0205 + 0.011505 + 0.005 * 100/64 = 0.0398175 s; 100 a second take 3.98175."""
    found = replicas_needed(CURVE, POOL, workload(), 100, busy)
    assert found is not None
    assert (found.replicas, found.load) == (replicas, pytest.approx(load, rel=1e-9))


def test_a_forecast_that_can_not_be_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="requests_per_second=0"):
        replicas_needed(CURVE, POOL, workload(), 0, ONE)
    with pytest.raises(InvalidInput, match="busy='3/2'"):
        replicas_needed(CURVE, POOL, workload(), 1, Fraction(3, 2))
    assert replicas_needed(CURVE, POOL, workload(), 1, ONE, Targets(itl_seconds=0.001)) is None


def test_the_replicas_found_hold_the_pace_in_the_simulator_and_one_fewer_does_not() -> None:
    """45 requests a second of 1,000 and 200 tokens, steps of at most 15 ms, replicas 85 % busy."""
    rng, rate, pace = random.Random(5), 45.0, 0.015
    sample = poisson(rng, 1_000, 1.0)
    work = Workload(*(np.array([getattr(job, name) for job in sample]) for name in ("context", "cached", "output")))
    found = replicas_needed(curve(), Pool(2_048, 128), work, rate, Fraction(85, 100), Targets(itl_seconds=pace))
    assert found is not None

    def itl(replicas: int) -> float:
        jobs = poisson(random.Random(6), 800, rate / replicas)
        Replica(H200_8B, max_batch=128).run(jobs)
        late = jobs[300:700]
        return float(sum(job.end - job.first for job in late) / sum(job.output - 1 for job in late))

    assert itl(found.replicas) <= pace
    assert itl(found.replicas - 2) > pace


def test_a_setup_costs_what_its_replica_seconds_cost() -> None:
    """36 an hour, 0.0398175 s a request of 1,101 tokens: 0.000398175, 0.36165 a million."""
    found = effect(BASE, workload(), 100, ONE)
    assert (found.batch, found.limit, found.replicas) == (64, "max_batch", 4)
    assert found.replica_hours_cost == 144
    assert float(found.request_cost or 0) == pytest.approx(0.000398175, rel=1e-12)
    assert float(found.cost_per_million or 0) == pytest.approx(0.361648501, rel=1e-8)
    assert found.notes == ()
    thrice = effect(BASE, workload(count=3), 100, ONE)
    assert (thrice.request_cost, thrice.cost_per_million) == (found.request_cost, found.cost_per_million)
    half = effect(BASE, workload(), 100, Fraction(1, 2))
    assert float(half.request_cost or 0) == pytest.approx(2 * 0.000398175, rel=1e-12)


def test_a_quarter_of_the_cache_bytes_reads_a_quarter_and_holds_four_times_as_many() -> None:
    """c a quarter: own decode 0.001 + 0.00262625. 10,500 tokens of cache hold 10 requests, 42,000 hold 40."""
    tight = Setup("8 heads", CURVE, replace(POOL, kv_capacity_tokens=10_500), Fraction(36))
    changed = with_kv_ratio(tight, Fraction(1, 4), "2 heads")
    before, after = effect(tight, workload(), 1, ONE), effect(changed, workload(), 1, ONE)
    assert (before.batch, after.batch) == (10, 40)
    assert float(after.request_cost or 0) == pytest.approx(0.01 * (0.0205 + 0.00362625 + 0.0125), rel=1e-9)
    assert after.notes[-1] == DERIVED_KV
    assert after.notes[0].startswith(BEHAVIOUR)
    held = replace(CURVE, memory=Memory(10_500 * 64, 1, 1, (LayerGroup(4, 16),)))
    grown = with_kv_ratio(replace(tight, curve=held), Fraction(1, 4), "2 heads").curve
    assert grown.memory is not None
    assert grown.memory.achievable_batch(1_050) == 40


def test_a_prefix_found_is_read_with_the_same_part_of_the_cache_bytes() -> None:
    reads = Setup("8 heads", replace(CURVE, r=4e-7), POOL, Fraction(36))
    changed = with_kv_ratio(reads, Fraction(1, 4), "2 heads").curve
    assert isinstance(changed, StepCurve)
    assert (changed.r, changed.c, changed.t_0) == (1e-7, CURVE.c / 4, CURVE.t_0)


def test_prompts_and_answers_apart_cost_their_own_replicas() -> None:
    """0.0205 + 0.005 * 1,000/2,048 on the first, 0.0193175 on the second, at 36 and 18 an hour; 100 a second need 3 and 2."""
    found = disaggregated(BASE, Setup("cheap", CURVE, POOL, Fraction(18)), workload(), 100, ONE)
    assert found.replicas == 5
    assert found.replica_hours_cost == 3 * 36 + 2 * 18
    assert float(found.request_cost or 0) == pytest.approx(0.01 * 0.02294140625 + 0.005 * 0.0193175, rel=1e-9)
    assert "moving the cache" in found.notes[-1]


def test_apart_each_phase_holds_its_own_promise() -> None:
    """A step of prompts alone lasts 0.005 + 2,048 * 20.5 us = 47 ms: longer than a token may take, which is the decode steps' to hold."""
    found = disaggregated(BASE, BASE, workload(), 100, ONE, Targets(ttft_seconds=1, itl_seconds=0.02))
    assert (found.batch, found.replicas) == (64, 5)


def test_every_weakness_of_a_curve_stands_beside_its_figures() -> None:
    header = replace(HEADER, floor=True, behaviour_changing=True, kl_divergence=0.02)
    steps = Grid(np.array([1.0, 8.0]), np.array([1_000.0]), np.array([[0.01], [0.02]]))
    table = Setup("t", TableCurve(header, Domain((1, 8), (1, 500)), steps), POOL, Fraction(1))
    found = effect(table, workload(), 1, ONE)
    assert found.notes == (f"{BEHAVIOUR} (KL 0.02)", FLOOR, TABLE, "beyond the measured range")
    with pytest.raises(InvalidInput, match="curve='c1'"):
        with_kv_ratio(table, Fraction(1, 2), "x")


def test_no_setup_is_priced_where_the_targets_can_not_be_held() -> None:
    found = effect(BASE, workload(), 1, ONE, Targets(itl_seconds=0.001))
    assert (found.batch, found.replicas, found.request_cost, found.cost_per_million) == (None, None, None, None)


def test_longer_contexts_and_better_hits_change_the_simulators_makespan_as_predicted() -> None:
    """A backlog of 700 requests; prompts twice as long, and half of every prompt found."""
    sample = poisson(random.Random(9), 700, 1e6, 800, 150)
    columns = [np.array([getattr(job, name) for job in sample]) for name in ("context", "cached", "output")]
    before = Workload(*columns)

    def makespan(work: Workload) -> float:
        jobs = poisson(random.Random(9), 700, 1e6, 800, 150)
        for job, context, cached in zip(jobs, work.context_tokens.tolist(), work.cached_tokens.tolist(), strict=True):
            job.context, job.cached = context, cached
        return Replica(H200_8B, max_batch=32).run(jobs)

    def cost(work: Workload) -> float:
        found = effect(Setup("h200", curve(), Pool(2_048, 32), Fraction(10)), work, 1, ONE)
        return float(found.request_cost or 0)

    for after in (before.with_context(Fraction(2)), before.with_hit_share(Fraction(1, 2))):
        assert cost(after) / cost(before) == pytest.approx(makespan(after) / makespan(before), rel=0.04)
