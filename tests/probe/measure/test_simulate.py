"""What does the simulator say of a list worked out by hand?"""

from __future__ import annotations

from typing import Any

import pytest

from probe.curve.curve import CurveDocument
from probe.engine.scheduler import SchedulerConfig
from probe.measure.errors import MeasureRefused
from probe.measure.simulate import Books, Part, Served, simulate
from probe.measure.traffic import Arrival
from probe.measure.truth import capacity, figures, largest, own_steps

# A step takes 10 s, 1 s a decoding sequence, 0.1 s a token it attends to, 2 s a new prompt token.
PARAMETERS = {"t_0": 10.0, "a": 1.0, "c": 0.1, "d": 2.0, "f": 0.0, "r": 0.0}
BOOKS = Books(SchedulerConfig(max_num_batched_tokens=8, max_num_seqs=2, max_model_len=64), 100, 4)
HEADER = {"version": 1, **dict.fromkeys(("curve_id", "model", "engine", "gpu", "dtype", "measured_at"), "c")}


def curve(**more: Any) -> CurveDocument:
    file: dict[str, Any] = {
        **HEADER,
        "form": "step",
        "domain": {"batch": [1, 4], "context": [1, 64]},
    }
    return CurveDocument.of({**file, "parameters": PARAMETERS, **more})


def test_one_request_alone() -> None:
    """Prompt of 3: 10 + 3 x 2 = 16 s. Then two decodes at contexts 4 and 5: 11.4 and 11.5 s."""
    found = simulate(curve(), [Arrival(5.0, 3, 3)], BOOKS)
    assert found.ttft == pytest.approx([16.0])
    assert found.itl == pytest.approx([11.4, 11.5])
    assert (found.busy_seconds, found.seconds) == pytest.approx((38.9, 43.9))


def test_a_second_request_joins_between_steps() -> None:
    """The second comes at 1 s, waits for the first's prompt to 16 s, and is computed beside its decode: 10 + 2 x 2 + 1 + 0.4 = 15.4 s.
    Then both decode, at contexts 5 and 3: 10 + 2 + 0.8 = 12.8 s."""
    found = simulate(curve(), [Arrival(0.0, 3, 3), Arrival(1.0, 2, 2)], BOOKS)
    assert found.ttft == pytest.approx([16.0, 30.4])
    assert found.itl == pytest.approx([15.4, 12.8, 12.8])
    assert found.seconds == pytest.approx(44.2)


def test_a_long_prompt_is_cut_by_the_steps_budget() -> None:
    """Twelve tokens at eight a step: 26 s and 18 s."""
    assert simulate(curve(), [Arrival(0.0, 12, 1)], BOOKS).ttft == pytest.approx([44.0])


def test_the_residual_corrects_steps_of_decodes_alone() -> None:
    residual = {"batch": [1.0, 2.0], "context": [1.0, 64.0], "values": [[2.0, 2.0], [2.0, 2.0]]}
    found = simulate(curve(residual=residual), [Arrival(0.0, 3, 2)], BOOKS)
    assert (found.ttft, found.itl) == (pytest.approx([16.0]), pytest.approx([22.8]))


def test_the_residual_is_read_at_the_mean_context() -> None:
    """Two decode at 4 each, where it is 1: 10 + 2 + 0.8 = 12.8 s. At 8, their sum, it would be 3."""
    residual = {"batch": [1.0, 2.0], "context": [4.0, 8.0], "values": [[1.0, 3.0], [1.0, 3.0]]}
    found = simulate(curve(residual=residual), [Arrival(0.0, 3, 2), Arrival(0.0, 3, 2)], BOOKS)
    assert found.itl == pytest.approx([12.8, 12.8])


def test_capacity_is_the_list_at_once() -> None:
    """Two requests of one token out: prompts of 3 and 2 tokens in one step of 20 s."""
    assert capacity(curve(), [Arrival(0.0, 3, 1), Arrival(9.0, 2, 1)], BOOKS) == pytest.approx(0.1)


def test_a_table_has_no_steps_to_simulate() -> None:
    grid = {"batch": [1.0], "context": [1.0], "values": [[1.0]]}
    table = CurveDocument.of({**HEADER, "form": "table", "domain": {"batch": [1, 1], "context": [1, 1]}, "steps": grid})
    with pytest.raises(MeasureRefused, match="form"):
        simulate(table, [Arrival(0.0, 3, 1)], BOOKS)


def test_answers_of_one_token_have_no_gap_to_compare() -> None:
    """A prompt of 3: 16 s, as long as it is busy."""
    served = simulate(curve(), [Arrival(0.0, 3, 1)], BOOKS)
    found = {one.name: one.predicted for one in figures(0.5, served, served)}
    assert found == pytest.approx({"gpu_seconds": 16.0, "ttft_p50": 16.0})


def test_figures_are_busy_time_and_medians() -> None:
    predicted = simulate(curve(), [Arrival(0.0, 3, 3)], BOOKS)
    slower = simulate(curve(parameters={**PARAMETERS, "t_0": 20.0}), [Arrival(0.0, 3, 3)], BOOKS)
    found = {one.name: (one.predicted, one.measured) for one in figures(0.5, predicted, slower)}
    assert found["gpu_seconds"] == pytest.approx((38.9, 68.9))
    assert found["ttft_p50"] == pytest.approx((16.0, 26.0))
    assert found["itl_p50"] == pytest.approx((11.45, 21.45))


def test_the_steps_that_were_served_are_priced_one_by_one() -> None:
    """A prompt of 2 beside a decode at 4: 10 + 2 x 2 + 1 + 0.4 = 15.4 s, took 20. Two decodes at 5 and 3: 12.8 s, took 16. An empty turn
    counts for nothing. 28.2 of 36 s is 21.7 % too low."""
    mixed = [Part(1, 3, False), Part(2, 0, True)]
    served = Served(steps=[(20.0, mixed), (16.0, [Part(1, 4, False), Part(1, 2, False)]), (9.0, [])])
    assert own_steps(curve(), served) == pytest.approx(28.2 / 36 - 1)
    assert largest(served) == (3, 2)


def test_a_simulation_keeps_its_steps() -> None:
    found = simulate(curve(), [Arrival(0.0, 3, 2)], BOOKS)
    assert [parts for _, parts in found.steps] == [[Part(3, 0, True)], [Part(1, 3, False)]]
    assert [seconds for seconds, _ in found.steps] == pytest.approx([16.0, 11.4])
