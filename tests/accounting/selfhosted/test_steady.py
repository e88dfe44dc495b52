"""What does a replica do in the steady state, by hand and in the simulator?"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Domain, TableCurve
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.pool import Pool
from accounting.selfhosted.steady import Operating, Targets, operating_point, steady
from accounting.selfhosted.workload import Workload
from tests.accounting.selfhosted.by_hand import CURVE, HEADER, POOL, alone, workload
from tests.accounting.selfhosted.replay import curve
from tests.accounting.selfhosted.simulator import H200_8B, Replica, poisson


def test_a_request_needs_its_own_work_and_its_part_of_the_steps() -> None:
    """Own prefill 0.0205, own decode 0.001 + 1e-7 * 105,050 = 0.011505, 100/10 steps of 0.005; first token 0.005 + 0.00115 + 0.0205."""
    found = steady(CURVE, POOL, workload(), 10)
    assert found.request_seconds == pytest.approx(0.082005, rel=1e-12)
    assert found.itl_seconds == pytest.approx(0.0082005, rel=1e-12)
    assert found.requests_per_second == pytest.approx(12.19438, rel=1e-6)
    assert found.ttft_seconds == pytest.approx(0.02665, rel=1e-12)
    assert (found.batch, found.extrapolated) == (10, False)


@pytest.mark.parametrize(
    ("role", "most", "beyond"), [("mixed", 999, True), ("mixed", 1_000, False), ("decode", 999, False)]
)
def test_what_rests_on_a_prompt_that_was_not_measured_says_so(role: Any, most: int, beyond: bool) -> None:
    """Prompts of 1,000 new tokens beside contexts that were measured; a pool of decode runs none."""
    measured = replace(CURVE, domain=replace(CURVE.domain, prefill_new=(1.0, float(most)), prefill_cached=(0.0, 0.0)))
    assert steady(measured, replace(POOL, role=role), workload(), 10).extrapolated is beyond


@pytest.mark.parametrize(
    ("pool", "seconds"),
    [
        (replace(POOL, role="prefill"), 0.0205 + 0.005 * 1_000 / 2_048),
        (replace(POOL, role="decode"), 0.061505),
        (replace(POOL, order="prefill_first"), 0.082005 + 0.005 * 1_000 / 2_048),
    ],
)
def test_each_role_and_order_pays_for_the_steps_it_runs(pool: Pool, seconds: float) -> None:
    assert steady(CURVE, pool, workload(), 10).request_seconds == pytest.approx(seconds, rel=1e-12)


def test_prompts_that_fill_the_steps_leave_fewer_to_decode() -> None:
    """10,000 new tokens in chunks of 2,048 - 50: 5.005 steps a request, so 10 / 5.005 decode at once."""
    found = steady(CURVE, POOL, workload(new=10_000, output=11), 50)
    assert found.batch == pytest.approx(1.998, rel=1e-4)


def test_what_was_measured_beside_the_fit_corrects_decode_steps_alone() -> None:
    """A tenth more of 0.011505 + 10 * 0.005; prompts stay as they were."""
    tenth = Grid(np.array([1.0, 64.0]), np.array([1.0, 8_192.0]), np.full((2, 2), 1.1))
    found = steady(replace(CURVE, residual=tenth), POOL, workload(), 10)
    assert found.request_seconds == pytest.approx(0.082005 + 0.0061505, rel=1e-12)


def test_a_correction_is_of_the_whole_decode_step_its_experts_too() -> None:
    """1.1 * (0.011505 + 10 * (0.005 + 1e-4 * 8 * (1 - 0.75^10))), where 10 tokens touch 7.5494919 of 8 experts."""
    tenth = Grid(np.array([1.0, 64.0]), np.array([1.0, 8_192.0]), np.full((2, 2), 1.1))
    moe = replace(CURVE, e=1e-4, experts=8, experts_per_token=2, residual=tenth)
    found = steady(moe, replace(POOL, role="decode"), workload(), 10)
    assert found.request_seconds == pytest.approx(0.07595994108, rel=1e-9)
    assert found.itl_seconds == pytest.approx(
        float(moe.answer(10, workload().held_tokens, "flag").step_seconds), rel=1e-4
    )


def test_a_step_of_short_prompts_holds_no_more_of_them_than_the_batch() -> None:
    """64 prompts of one token share 0.005, though 2,048 would fit the budget."""
    found = steady(CURVE, replace(POOL, role="prefill"), workload(new=1), 10)
    assert found.request_seconds == pytest.approx(2e-5 + 5e-10 + 0.005 / 64, rel=1e-12)


def test_a_first_token_is_that_of_the_95th_percentile_of_the_prompts() -> None:
    """21 prompts of 100 to 2,100 tokens: the 20th has 2,000: 0.005 + 0.04 + 0.002 in a step of its own."""
    new = np.arange(100, 2_200, 100, dtype=np.int64)
    lengths = Workload(new, np.zeros(21, np.int64), np.full(21, 101, np.int64))
    apart = replace(POOL, order="prefill_first", token_budget=4_096)
    assert steady(CURVE, apart, lengths, 10).ttft_seconds == pytest.approx(0.047, rel=1e-12)


def test_experts_are_touched_by_all_tokens_of_the_step() -> None:
    """110 tokens a step touch all 8 experts: 10 steps of 8 * 1e-4 more; at a batch of 1 with 1 prompt token in 100, 8*(1 - 0.75^1.01)."""
    moe = replace(CURVE, e=1e-4, experts=8, experts_per_token=2)
    assert steady(moe, POOL, workload(), 10).request_seconds == pytest.approx(0.090005, rel=1e-9)
    few = steady(CURVE, POOL, workload(new=1), 1).request_seconds
    assert steady(moe, POOL, workload(new=1), 1).request_seconds == pytest.approx(few + 0.0201720, rel=1e-5)


@pytest.mark.parametrize(
    ("pool", "targets", "batch", "limit"),
    [
        (POOL, Targets(), 64, "max_batch"),
        (replace(POOL, max_batch=100), Targets(), 64, "measured_range"),
        (replace(POOL, kv_capacity_tokens=10_500), Targets(), 10, "kv"),
        (replace(POOL, kv_capacity_tokens=10_499), Targets(), 9, "kv"),
        (replace(POOL, kv_capacity_tokens=10_999, admission="peak"), Targets(), 9, "kv"),
        (POOL, Targets(itl_seconds=0.0094808), 14, "itl"),
        (POOL, Targets(itl_seconds=0.0094806), 13, "itl"),
        (POOL, Targets(ttft_seconds=0.0275), 17, "ttft"),
    ],
)
def test_the_best_batch_names_what_stops_it(pool: Pool, targets: Targets, batch: int, limit: str) -> None:
    """A step takes 0.005 + R * 0.00032005, a first token 0.0255 + R * 0.000115; 1,050 tokens are held on average, 1,100 at the end."""
    found = operating_point(CURVE, pool, workload(), targets)
    assert found is not None
    assert (found.steady.batch, found.limit) == (batch, limit)


def test_no_batch_holds_an_impossible_target() -> None:
    assert operating_point(CURVE, POOL, workload(), Targets(itl_seconds=0.005)) is None
    assert operating_point(CURVE, replace(POOL, kv_capacity_tokens=1_049), workload()) is None


def test_prompts_that_fill_the_budget_are_the_limit() -> None:
    found = operating_point(CURVE, POOL, workload(new=10_000, output=11))
    assert found is not None
    assert found.limit == "token_budget"


def test_a_table_serves_what_was_served_and_throughput_may_fall() -> None:
    """100 steps: 20 ms each for 4 users are 0.5 s a request, 60 ms for 8 are 0.75 s: 4 is best."""
    steps = Grid(np.array([1.0, 4.0, 8.0]), np.array([1_000.0]), np.array([[0.01], [0.02], [0.06]]))
    table = TableCurve(HEADER, Domain((1, 8), (1, 8_192)), steps)
    found = operating_point(table, POOL, workload())
    assert found is not None
    assert (found.steady.batch, found.limit) == (4, "none")
    assert found.steady.request_seconds == pytest.approx(0.5)
    with pytest.raises(InvalidInput, match="ttft_seconds=1"):
        operating_point(table, POOL, workload(), Targets(ttft_seconds=1))
    with pytest.raises(InvalidInput, match="role='decode'"):
        steady(table, replace(POOL, role="decode"), workload(), 4)


def test_changed_workloads_keep_what_they_do_not_change() -> None:
    """500 of 1,500 found; twice as long 1,000 of 3,000; 60 % found 900 of 1,500; a prompt found whole still computes one token."""
    one = workload(new=1_000, cached=500)
    assert one.hit_share == Fraction(1, 3)
    assert one.tokens == 1_601
    double, hits, all_hits = (
        one.with_context(Fraction(2)),
        one.with_hit_share(Fraction(3, 5)),
        one.with_hit_share(Fraction(1)),
    )
    assert [double.uncached_input_tokens[0], double.cached_tokens[0], double.output_tokens[0]] == [2_000, 1_000, 101]
    assert [hits.uncached_input_tokens[0], hits.cached_tokens[0]] == [600, 900]
    assert [all_hits.uncached_input_tokens[0], all_hits.cached_tokens[0]] == [1, 1_499]
    with pytest.raises(InvalidInput, match="hit_share='3/2'"):
        one.with_hit_share(Fraction(3, 2))
    with pytest.raises(InvalidInput, match="uncached_input_tokens=0"):
        workload(new=0)


def test_a_prompt_found_whole_computes_its_last_token() -> None:
    found = Workload.of(alone(context=1_500, cached=1_500), np.array([0]))
    assert [found.uncached_input_tokens[0], found.cached_tokens[0], found.output_tokens[0]] == [1, 1_499, 101]


def test_long_answers_count_by_their_steps() -> None:
    """100 steps about 1,050 and 300 about 2,150 tokens: 1,875 on average, 2,000 at the end."""
    mixed = Workload(np.array([1_000, 2_000]), np.array([0, 0]), np.array([101, 301]))
    assert (mixed.held_tokens, mixed.peak_tokens) == (1_875, 2_000)


def test_some_of_many_requests_stand_for_all() -> None:
    rng = np.random.default_rng(3)
    lengths = (np.ceil(rng.lognormal(middle, 0.8, 100_000)).astype(np.int64) for middle in (6.5, 5.0, 5.0))
    many = Workload(*lengths)
    few = many.thinned()
    assert len(few) == 20_000
    whole, part = (steady(CURVE, POOL, work, 32).request_seconds for work in (many, few))
    assert part == pytest.approx(whole, rel=0.01)
    assert few.held_tokens == pytest.approx(many.held_tokens, rel=0.01)


def saturated(prompt: int, output: int, batch: int, **changes: int) -> tuple[float, Operating]:
    """Requests a second of a backlog in the simulator, start and end left out, and what the formulas say."""
    jobs = poisson(random.Random(7), 1_200, 1e6, prompt, output)
    replica = Replica(H200_8B, max_batch=batch, **changes)  # type: ignore[arg-type]
    replica.run(jobs)
    ends = sorted(job.end for job in jobs)
    pace = 600 / (ends[900] - ends[300])
    counts = (np.array([getattr(job, name) for job in jobs]) for name in ("context", "cached", "output"))
    pool = Pool(token_budget=replica.budget, max_batch=batch, kv_capacity_tokens=changes.get("capacity"))
    found = operating_point(curve(), pool, Workload(*counts))
    assert found is not None
    return pace, found


@pytest.mark.parametrize(("prompt", "output", "batch"), [(1_000, 200, 32), (3_000, 60, 32), (300, 300, 64)])
def test_the_simulator_serves_what_is_predicted(prompt: int, output: int, batch: int) -> None:
    pace, found = saturated(prompt, output, batch)
    assert found.steady.requests_per_second == pytest.approx(pace, rel=0.05)


def test_a_full_cache_is_predicted_from_mean_lengths() -> None:
    """Long ones among short ones leave holes: the simulator serves some 10 % less."""
    pace, found = saturated(1_000, 200, 128, capacity=60_000)
    assert found.limit == "kv"
    assert found.steady.requests_per_second == pytest.approx(pace, rel=0.15)
