"""Does a curve's grid hold what the curve says and what was measured? t = 0.01 + 0.001*b + 0.00001*b*s, worked by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.selfhosted.curve_json import load_curve
from accounting.selfhosted.evaluate import Cell, evaluate

STEP: dict[str, Any] = {
    "version": 1,
    "curve_id": "c",
    "form": "step",
    "model": "m",
    "engine": "e",
    "gpu": "g",
    "dtype": "bfloat16",
    "measured_at": "2026-10-01",
    "domain": {"batch": [1, 10], "context": [100, 1000]},
    "parameters": {"t_0": 0.01, "a": 0.001, "c": 0.00001, "d": 0.0001, "f": 0, "r": 0},
}


def cells(
    file: dict[str, Any], batches: tuple[int, ...] = (), contexts: tuple[int, ...] = ()
) -> dict[tuple[int, int], Cell]:
    found = evaluate(load_curve(json.dumps(file)), file, batches, contexts)
    return {(cell.batch, cell.context): cell for cell in found}


def test_throughput_is_the_batch_over_its_step() -> None:
    # 0.01 + 4*0.001 + 4*500*0.00001 = 0.034
    cell = cells(STEP, (4,), (500,))[4, 500]
    assert cell.step_seconds == pytest.approx(0.034, rel=1e-12)
    assert cell.tokens_per_second == pytest.approx(4 / 0.034, rel=1e-12)
    assert cell.fitted_tokens_per_second == cell.tokens_per_second
    # prefill of 500 beside 3 others: 0.01 + 3*0.001 + 3*500*0.00001 + 500*0.0001 = 0.078
    assert cell.ttft_seconds == pytest.approx(0.078, rel=1e-12)
    assert (cell.measured_tokens_per_second, cell.fits, cell.extrapolated) == (None, None, False)


def test_without_measured_points_the_axes_are_powers_of_two_between_the_ends() -> None:
    found = cells(STEP)
    assert sorted({batch for batch, _ in found}) == [1, 2, 4, 8, 10]
    assert sorted({context for _, context in found}) == [100, 128, 256, 512, 1000]


POINTS = [
    {"kind": "decode", "seconds": 0.04, "batch": 4, "context_sum": 2000},
    {"kind": "decode", "seconds": 0.02, "batch": 2, "context_sum": 400},
    {"kind": "decode", "seconds": 0.03, "batch": 4, "context_sum": 2001},
    {"kind": "decode", "seconds": 0.03, "batch": 4, "context_sum": 800, "ragged": True},
    {"kind": "prefill", "seconds": 0.2, "new": 100},
    {"kind": "mixed", "seconds": 0.2, "batch": 4, "context_sum": 4000},
]


def test_measured_steps_of_one_length_stand_beside_the_curve() -> None:
    found = cells({**STEP, "source": {"points": POINTS}})
    assert {place: cell.measured_tokens_per_second for place, cell in found.items()} == {
        (2, 200): 100.0,
        (2, 500): None,
        (4, 200): None,
        (4, 500): 100.0,
    }


@pytest.mark.parametrize(
    "source", [{"points": 5}, {"points": [5, {}, {"kind": "decode", "seconds": 0, "batch": 1}]}, {}]
)
def test_a_source_without_steps_gives_no_measured_points(source: dict[str, Any]) -> None:
    assert {cell.measured_tokens_per_second for cell in cells({**STEP, "source": source}).values()} == {None}


def test_a_step_that_is_not_finite_is_refused() -> None:
    with pytest.raises(InvalidInput, match="context="):
        cells(STEP, (10**200,), (10**200,))


def test_a_residual_gives_measured_points_and_moves_the_answer() -> None:
    residual = {"batch": [1, 4], "context": [100, 500], "values": [[1.0, 1.0], [1.0, 2.0]]}
    cell = cells({**STEP, "residual": residual})[4, 500]
    assert cell.measured_tokens_per_second == pytest.approx(4 / 0.068, rel=1e-12)
    assert cell.tokens_per_second == pytest.approx(4 / 0.068, rel=1e-12)
    assert cell.fitted_tokens_per_second == pytest.approx(4 / 0.034, rel=1e-12)


def test_a_table_has_its_served_points_and_no_first_token_that_it_did_not_measure() -> None:
    steps = {"batch": [1, 8], "context": [100, 1000], "values": [[0.01, 0.02], [0.02, 0.05]]}
    table = {name: value for name, value in STEP.items() if name != "parameters"} | {"form": "table", "steps": steps}
    found = cells(table)
    assert found[8, 1000].tokens_per_second == found[8, 1000].measured_tokens_per_second == 160.0
    assert found[8, 1000].ttft_seconds is None


def test_a_cell_of_a_table_that_no_run_covered_is_marked_and_has_nothing_measured() -> None:
    steps = {"batch": [1, 8], "context": [100, 1000], "values": [[0.01, 0.02], [0.02, 0.16]]}
    steps["measured"] = [[True, True], [True, False]]
    table = {name: value for name, value in STEP.items() if name != "parameters"} | {"form": "table", "steps": steps}
    found = cells(table)
    assert (found[8, 1000].extrapolated, found[8, 1000].measured_tokens_per_second) == (True, None)
    assert (found[8, 100].extrapolated, found[8, 100].measured_tokens_per_second) == (False, 400.0)


def test_a_batch_that_does_not_fit_the_cache_says_so() -> None:
    # 1 layer x 10 bytes x 100 tokens in blocks of 10 = 1,000 bytes a sequence: 4 fit into 4,999.
    memory = {"kv_bytes": 4999, "block_size": 10, "groups": [{"layers": 1, "bytes_per_token": 10}]}
    found = cells({**STEP, "memory": memory}, (4, 5), (100,))
    assert (found[4, 100].fits, found[5, 100].fits) == (True, False)


def test_what_lies_beyond_the_measured_range_is_marked() -> None:
    found = cells(STEP, (10, 11), (1000,))
    assert (found[10, 1000].extrapolated, found[11, 1000].extrapolated) == (False, True)


@pytest.mark.parametrize(("batches", "contexts", "field"), [((0,), (), "batch"), ((), (-3,), "context")])
def test_a_number_below_1_is_refused_by_name(batches: tuple[int, ...], contexts: tuple[int, ...], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}="):
        cells(STEP, batches, contexts)


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(InvalidInput, match="65 x 64"):
        cells(STEP, tuple(range(1, 66)), tuple(range(100, 164)))


def test_a_first_token_of_a_prompt_that_was_not_measured_is_marked_beside_its_step() -> None:
    file = STEP | {"domain": STEP["domain"] | {"prefill_new": [1, 400]}}
    found = cells(file, (1,), (400, 500))
    assert [(one.extrapolated, one.ttft_extrapolated) for one in found.values()] == [(False, False), (False, True)]
