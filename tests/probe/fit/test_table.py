"""Does a table of served runs say the throughput that was served, and none that was not?"""

from __future__ import annotations

import numpy as np
import pytest

from probe.curve.errors import CurveRefused
from probe.curve.schema import Served
from probe.fit.table import fit_table


def run(users: float, pace: float, throughput: float, context: float = 1050) -> Served:
    """100 tokens out; `context` is the prompt and half of them."""
    return Served(
        input_tokens=context - 50,
        output_tokens=100,
        concurrency=users,
        tpot_median=pace,
        output_tokens_per_second=throughput,
    )


def test_users_who_wait_for_their_first_token_are_no_part_of_a_batch() -> None:
    """8 users get 400 tokens a second at 15 ms: 6 decode at once. 8 / 15 ms would be 533."""
    found = fit_table([run(8, 0.015, 400), run(16, 0.02, 600)])
    assert found.steps.batch.tolist() == [6.0, 12.0]
    assert (found.steps.batch / found.steps.values[:, 0]).tolist() == pytest.approx([400, 600])


def test_a_lone_user_s_throughput_is_the_one_that_was_served() -> None:
    """60 tokens a second at 10 ms: 0.6 decode at once, the rest of the time is prefill. 1 / 10 ms would be 100 a second."""
    found = fit_table([run(1, 0.01, 60), run(2, 0.01, 160)])
    assert found.steps.batch.tolist() == [1.0, 1.6]
    assert (found.steps.batch / found.steps.values[:, 0]).tolist() == pytest.approx([60, 160])
    said = "in 1 of 2 runs less than one sequence decoded at once: batch 1, and waiting and prefill are in the step"
    assert said in found.report.notes


def test_a_table_without_lone_users_says_nothing_of_them() -> None:
    notes = fit_table([run(1, 0.01, 100), run(2, 0.01, 200)]).report.notes
    assert not any("less than one" in note for note in notes)


def test_without_a_throughput_the_batch_is_the_users() -> None:
    runs = [Served(input_tokens=100, output_tokens=10, concurrency=users, tpot_median=0.01) for users in (2, 4)]
    assert fit_table(runs).steps.batch.tolist() == [2.0, 4.0]


def test_a_batch_that_a_context_never_had_brings_no_throughput() -> None:
    """At 4,050 tokens only 2 decoded at once, 100 tokens a second: 12 take six times as long."""
    found = fit_table([run(8, 0.015, 400), run(16, 0.02, 600), run(4, 0.02, 100, 4050)])
    assert float(found.steps.at(np.float64(12), np.float64(4050))) == pytest.approx(0.12)
    assert found.steps.measured is not None
    assert found.steps.measured.tolist() == [[False, True], [True, False], [True, False]]
    assert "largest batch measured: 2 at 4050; beyond it throughput is taken not to rise" in found.report.notes


def test_below_the_smallest_batch_of_a_context_a_step_takes_as_long_as_that_batch_s() -> None:
    found = fit_table([run(1, 0.01, 100), run(2, 0.01, 200), run(8, 0.03, 200, 4050)])
    assert float(found.steps.at(np.float64(1), np.float64(4050))) == pytest.approx(0.03)


def test_lengths_within_a_twentieth_are_one_context() -> None:
    """1,000 and 1,050 are, their median 1,025; 1,051 is none of theirs."""
    found = fit_table([run(1, 0.01, 100, 1000), run(2, 0.01, 200, 1050), run(1, 0.01, 100, 1051)])
    assert found.steps.context.tolist() == [1025.0, 1051.0]


def test_a_run_left_out_is_predicted_from_its_neighbours() -> None:
    """Batches 1, 2, 3 at 10, 24 and 30 ms: the middle one is predicted as 20 ms, a sixth short; the ends have one neighbour."""
    found = fit_table([run(1, 0.01, 100), run(2, 0.024, 2 / 0.024), run(3, 0.03, 100)]).report.errors
    assert found["leave_one_point"].n == 1
    assert found["leave_one_point"].bias == pytest.approx(-1 / 6)


def test_one_run_is_no_table() -> None:
    with pytest.raises(CurveRefused, match="served=1"):
        fit_table([run(8, 0.015, 400)])
