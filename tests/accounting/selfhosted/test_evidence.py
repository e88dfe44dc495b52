"""Which requests are charged, by what quality, and which are not and why?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.arrays import NO_TIME, UNKNOWN
from accounting.selfhosted.curve import Domain, TableCurve, prompts_measured
from accounting.selfhosted.forward import complete_times
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.hour import settle_hour
from accounting.selfhosted.pool import Cells, Pool
from accounting.selfhosted.reasons import QUALITIES, REASONS
from accounting.selfhosted.requests import Requests, judge
from accounting.selfhosted.shares import Attribution, attribute
from tests.accounting.selfhosted.replay import HEADER, curve, log, pool_of, shares, whole
from tests.accounting.selfhosted.simulator import H200_8B, Job, Replica

POOL = Pool(token_budget=2_048, max_batch=64, kv_capacity_tokens=1_000_000)


def pair(**columns: Any) -> Requests:
    """Two that decode together: first tokens at 1.0, ends at 3.0 s."""
    jobs = [Job(at, 0.9, 1_000, 0, 101, first=1.0, end=3.0) for at in range(2)]
    return log(jobs, **{name: np.array(values) for name, values in columns.items()})


def found(**columns: Any) -> Attribution:
    return attribute(curve(), POOL, pair(**columns), Cells.of_hours([0], 1))


def reasons(of: Attribution) -> list[str]:
    return [REASONS[code] for code in of.reason]


def test_what_is_fully_logged_is_measured() -> None:
    assert [QUALITIES[code] for code in found().lines.quality] == ["measured", "measured"]


def test_unknown_cached_tokens_leave_a_request_unpriced_and_in_the_batch() -> None:
    of = found(cached_tokens=[0, UNKNOWN])
    assert reasons(of) == ["charged", "cached_tokens_unknown"]
    assert of.lines.mean_batch == pytest.approx([2.0])


def test_a_failure_without_first_token_is_unproven_and_in_no_batch() -> None:
    of = found(failed=[False, True], first_token_at=[1_000_000, NO_TIME])
    assert reasons(of) == ["charged", "no_evidence_of_steps"]
    assert of.lines.mean_batch == pytest.approx([1.0])


def test_a_cancelled_request_pays_for_the_steps_until_it_stopped() -> None:
    of = found(failed=[False, True], output_tokens=[101, 51], completed_at=[3_000_000, 2_000_000])
    assert reasons(of) == ["charged", "charged"]
    assert of.lines.request_steps.tolist() == [101.0, 51.0]


def test_times_that_contradict_each_other_are_not_guessed() -> None:
    assert reasons(found(completed_at=[3_000_000, 900_000])) == ["charged", "times_contradict"]
    assert reasons(found(completed_at=[3_000_000, NO_TIME])) == ["charged", "times_unknown"]


@pytest.mark.parametrize(
    ("outside", "reason", "flags"), [("refuse", "outside_measured_range", 0), ("flag", "charged", 1)]
)
def test_a_context_beyond_the_curve_is_refused_or_flagged(outside: Any, reason: str, flags: int) -> None:
    of = attribute(
        curve(), replace(POOL, outside=outside), pair(context_tokens=[1_000, 200_000]), Cells.of_hours([0], 1)
    )
    assert (reasons(of)[1], int(of.extrapolated.sum())) == (reason, flags)


@pytest.mark.parametrize(
    ("role", "context", "output", "within"),
    [
        ("mixed", 4_000, 97, True),  # the last of 96 decode steps attends to 4,000 + 96 tokens
        ("mixed", 4_000, 98, False),
        ("decode", 4_000, 97, True),
        ("decode", 4_000, 98, False),
        ("prefill", 4_000, 2_000, True),  # no decode runs there
        ("mixed", 4_096, 1, True),  # its one token is the prompt's
        ("mixed", 4_096, 0, True),
        ("prefill", 4_097, 1, False),
    ],
)
def test_a_context_is_measured_up_to_what_the_last_step_of_the_pool_attends_to(
    role: Any, context: int, output: int, within: bool
) -> None:
    """Contexts were measured up to 4,096; N output tokens are N - 1 decode steps, the last of them at context + N - 1."""
    measured = replace(curve(), domain=Domain((1, 64), (1, 4_096)))
    pool = replace(POOL, role=role, outside="refuse")
    long = pair(context_tokens=[1_000, context], output_tokens=[101, output])
    evidence = judge(long, measured, pool)
    assert [REASONS[code] for code in evidence.reason] == ["charged", "charged" if within else "outside_measured_range"]
    assert judge(long, measured, replace(pool, outside="flag")).extrapolated.tolist() == [False, not within]


@pytest.mark.parametrize(("role", "within"), [("mixed", False), ("prefill", False), ("decode", True)])
def test_a_prompt_beyond_the_curve_is_no_matter_of_a_pool_that_computes_none(role: Any, within: bool) -> None:
    """Prompts were measured up to 1,024 new tokens in a step; of 2,000 the budget takes all at once."""
    measured = replace(curve(), domain=Domain((1, 64), (1, 4_096), (16, 1_024), (0, 4_096)))
    evidence = judge(pair(context_tokens=[1_000, 2_000]), measured, replace(POOL, role=role, outside="refuse"))
    assert [REASONS[code] for code in evidence.reason] == ["charged", "charged" if within else "outside_measured_range"]


@pytest.mark.parametrize(
    ("new", "cached", "budget", "within"),
    [
        (1_024, 3_000, 1_024, True),
        (1_025, 0, 4_096, False),  # one step of more than was measured
        (4_096, 0, 1_024, True),  # four chunks, the last upon 3,072
        (4_100, 0, 1_024, False),  # five of 820: the last upon 3,280
        (2_048, 2_048, 1_024, True),  # the second upon 3,072
        (2_048, 2_049, 1_024, False),
        (100, 3_073, 1_024, False),
        (1_500, 2_400, 1_024, False),  # two of 750, the second upon 3,150
        (1_000, 2_900, 512, True),  # in chunks the second would be upon 3,400, but the whole was measured
    ],
)
def test_a_long_prompt_is_within_the_range_where_each_of_its_chunks_is(
    new: int, cached: int, budget: int, within: bool
) -> None:
    domain = Domain((1, 16), (64, 8_192), (16, 1_024), (0, 3_072))
    found = prompts_measured(domain, np.array([new]), np.array([cached]), budget)
    assert found.tolist() == [within]


def test_an_axis_that_was_not_swept_rules_no_prompt_out() -> None:
    assert prompts_measured(Domain((1, 16), (64, 8_192)), np.array([9_000]), np.array([9_000]), 1_024).tolist() == [
        True
    ]


def test_a_missing_replica_makes_the_pool_fluid_and_its_charges_estimated() -> None:
    """Two requests on two replicas: each has one for itself."""
    of = attribute(curve(), POOL, pair(replica=[0, UNKNOWN]), Cells.of_hours([0], 2))
    assert [QUALITIES[code] for code in of.lines.quality] == ["estimated", "estimated"]
    assert of.lines.mean_batch == pytest.approx([1.0, 1.0])
    assert (of.in_flight_us + of.idle_us).tolist() == [2 * 3_600_000_000]


def test_rejected_drafts_are_inside_the_share() -> None:
    """100 tokens in 50 verify steps of 4 positions: own decode 50*4*a + 4*c*(50*(1,000 + 2.5) + 2*(50^2 - 50)/2)."""
    of = found(decode_steps=[50, 50], positions=[200, 200])
    assert of.lines.own_decode == pytest.approx([200 * 9e-6 + 4 * 3.4e-8 * (50 * 1_002.5 + 2_450)] * 2, rel=1e-12)


def test_disaggregated_pools_charge_their_own_phase_only() -> None:
    parts = [
        attribute(curve(), replace(POOL, role=role), pair(), Cells.of_hours([0], 1)).lines
        for role in ("prefill", "decode")
    ]  # type: ignore[arg-type]
    assert [(one.own_prefill > 0).tolist() for one in parts] == [[True, True], [False, False]]
    assert [(one.own_decode > 0).tolist() for one in parts] == [[False, False], [True, True]]


def test_a_malformed_column_is_named_with_its_value() -> None:
    with pytest.raises(InvalidInput, match=r"cached_tokens of r00000001=2000: more than the whole context"):
        pair(cached_tokens=[0, 2_000])
    with pytest.raises(InvalidInput, match=r"context_tokens of r00000000=0: a whole number from 1 is expected"):
        pair(context_tokens=[0, 1])


def test_missing_times_come_from_a_forward_simulation() -> None:
    """The simulator of the tests is another program: shares from simulated times are within 5 % of those from its own."""
    jobs = [Job(at, at * 0.11, 500 + at * 37 % 3_000, 0, 60 + at * 13 % 200) for at in range(150)]
    replica = Replica(H200_8B)
    replica.run(jobs)
    blank = np.full(150, NO_TIME)
    filled, estimated = complete_times(
        curve(), pool_of(replica), log(jobs, first_token_at=blank, completed_at=blank), 1
    )
    assert estimated.all()
    assert filled.first_token_at / 1e6 == pytest.approx([job.first for job in jobs], abs=0.08)
    of = attribute(curve(), pool_of(replica), filled, whole(filled), "equal", estimated)
    assert {QUALITIES[code] for code in of.lines.quality} == {"estimated"}
    assert np.abs(shares(of, 150) / [job.equal for job in jobs] - 1).max() < 0.05


def test_a_table_prices_with_equal_shares_of_its_served_steps() -> None:
    """Two decode 100 steps of 0.02 s together: each 100*0.01; their prefill step of 0.02 is shared alike; no underfill is known."""
    served = Grid(np.array([1.0, 2.0]), np.array([1.0]), np.array([[0.02], [0.02]]))
    table = TableCurve(HEADER, Domain((1, 2), (1, 10_000)), served)
    of = attribute(table, POOL, pair(), Cells.of_hours([0], 1))
    assert of.lines.seconds == pytest.approx([1.01, 1.01], rel=1e-9)
    assert settle_hour(of, 0, 10**15, np.array(["a", "b"]), best_batch=2).underfill is None


def test_steps_of_a_batch_that_no_run_of_a_table_had_are_flagged_or_refused_by_the_hour() -> None:
    """Two together, then one alone: 2 at once was served with one token only, 1 with 10,000 too."""
    jobs = [Job(at, came, 1_000, 0, 101, first=came + 0.1, end=came + 2.1) for at, came in enumerate((0.9, 0.9, 5.0))]
    known = np.array([[True, True], [True, False]])
    served = Grid(np.array([1.0, 2.0]), np.array([1.0, 10_000.0]), np.full((2, 2), 0.02), known)
    table = TableCurve(HEADER, Domain((1, 2), (1, 10_000)), served)
    flagged = attribute(table, POOL, log(jobs), Cells.of_hours([0], 1))
    assert (reasons(flagged), flagged.extrapolated.tolist()) == (["charged"] * 3, [True, True, False])
    refused = attribute(table, replace(POOL, outside="refuse"), log(jobs), Cells.of_hours([0], 1))
    assert reasons(refused) == ["outside_measured_range", "outside_measured_range", "charged"]
    assert (refused.lines.row.tolist(), refused.refused_in(0).tolist()) == ([2], [0, 1])
    assert refused.in_flight_us.tolist() == flagged.in_flight_us.tolist()
