"""Do served runs import with their units, their published cost under their rule, and a cost under ours that is the bill again?"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from accounting.selfhosted.curve_json import load_curve
from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile, Served
from probe.curve.terms import Terms
from probe.fit.result import with_curve
from probe.fit.served_gap import gap_at
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from probe.imports.served_runs import restate, their_cost
from tests.shared_data import shared


def runs() -> list[ResultFile]:
    return read_foreign("served-runs", shared("served-runs/master_results.csv"), Given(input_tokens=512))


def llama() -> list[Served]:
    return next(one for one in runs() if one.result_id == "served-C1").served


def test_all_runs_import_by_configuration() -> None:
    found = runs()
    assert (len(found), sum(len(one.served) for one in found)) == (20, 140)
    assert {one.device.count for one in found} == {1, 2, 4}
    assert next(one for one in found if one.result_id == "served-C2").model.quantization == "fp8"


def test_the_published_cost_comes_out_under_their_rule() -> None:
    rows = list(csv.DictReader(shared("served-runs/master_results.csv").read_text().splitlines()))
    assert max(abs(their_cost(row) / float(row["c_eff_per_mtok"]) - 1) for row in rows) < 1e-9


def test_under_our_rule_input_and_output_together_are_the_bill() -> None:
    """10 requests a second of 500 in and 100 out at 3.60 dollars an hour: 0.001 dollars a second; theirs 1.00 a million output.

    A prompt's own prefill takes 500 * 2e-5 = 0.01 s, so 10 % of the second: 0.0001 over 5,000 tokens is 0.02 a million input,
    0.0009 over 1,000 is 0.90 a million output; over all 6,000 tokens alike 0.1667.
    """
    run = Served(input_tokens=500, output_tokens=100, requests_per_second=10, output_tokens_per_second=1000)
    found = restate(run, 3.60, Terms(t_0=0.005, a=0, c=0, d=2e-5, f=0, r=0))
    assert (found.theirs, found.plain, found.input, found.output) == pytest.approx((1.0, 1 / 6, 0.02, 0.9))


def test_prompt_lengths_must_be_given() -> None:
    with pytest.raises(CurveRefused, match="--input-tokens"):
        read_foreign("served-runs", shared("served-runs/master_results.csv"), Given())


def test_the_floor_is_right_at_low_load_and_half_at_saturation() -> None:
    """Served Llama-3.1-8B on H100: 6.56 ms a token at one request a second, 59.8 ms at 200."""
    given = Given(model="Llama-3.1-8B")
    [floor] = read_foreign("op-tables", shared("op-tables") / "h100_sxm", given)
    curve = CurveDocument.of(with_curve(floor).curve or {})
    gaps = {run.request_rate: gap_at(curve, run) for run in llama()}
    assert gaps[1] == pytest.approx(1.0, abs=0.10)
    assert 0.35 < gaps[200] < 0.60


def test_a_curve_of_the_runs_themselves_states_its_held_out_error() -> None:
    found = with_curve(next(one for one in runs() if one.result_id == "served-C1"))
    assert found.fit is not None
    assert found.fit.errors["leave_one_point"].mape < 0.10
    curve = load_curve(json.dumps(found.curve))
    assert curve.form == "table"
    assert not curve.header.floor
    steps = np.array([run.tpot_median for run in llama()], float)
    assert float(curve.steps.values.min()) == pytest.approx(steps.min())


TWO = ("C1", "meta/llama", "H100", "vllm", "1", "bf16")


def configuration(tmp_path: Path, field: str, value: str) -> Path:
    """Three rows of one configuration and one of another; the third row says another `field`."""
    names = ("config", "model", "hardware", "engine", "gpus", "precision")
    figures = "rps,request_throughput,tps_output,ttft_mean_ms,ttft_p50_ms,ttft_p99_ms,tpot_p50_ms,e2el_p50_ms"
    rows = [dict(zip(names, TWO, strict=True)) for _ in range(3)]
    rows[2][field] = value
    rows.insert(1, dict(zip(names, ("C2", "meta/llama", "H200", "sglang", "4", "fp8"), strict=True)))
    lines = [",".join([*row.values(), "1,1,101,500,500,700,20,2500"]) for row in rows]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([",".join([*names, figures]), *lines]))
    return path


@pytest.mark.parametrize(("field", "value"), [
    ("model", "other"), ("hardware", "H200"), ("engine", "sglang"), ("gpus", "8"), ("precision", "fp8"),
])  # fmt: skip
def test_rows_of_one_configuration_that_contradict_each_other_are_refused(
    field: str, value: str, tmp_path: Path
) -> None:
    """A configuration is named after its first row: the others would be priced as that one's GPUs."""
    said = rf"line 5 {field}='{value}': line 2 of the same configuration, C1, says "
    with pytest.raises(CurveRefused, match=said):
        read_foreign("served-runs", configuration(tmp_path, field, value), Given(input_tokens=512))


def test_configurations_may_differ_from_each_other(tmp_path: Path) -> None:
    found = read_foreign("served-runs", configuration(tmp_path, "gpus", "1"), Given(input_tokens=512))
    assert [(one.device.gpu, one.device.count) for one in found] == [("H100", 1), ("H200", 4)]


def served_on(tmp_path: Path, model: str, pace_ms: float) -> list[str]:
    """Notes on a table of 1 and 2 users at `pace_ms` a token on an H100."""
    for users in (1, 2):
        record = {"completed": 8, "max_concurrency": users, "total_input_tokens": 4096, "total_output_tokens": 808}
        record |= {"median_tpot_ms": pace_ms, "output_throughput": users * 950 / pace_ms}
        (tmp_path / f"{users}.json").write_text(json.dumps(record))
    given = Given(model=model, gpu="H100", gpus=1, engine="e", dtype="bf16", measured_at="2026-11-01")
    [found] = read_foreign("vllm-bench-serve", tmp_path, given)
    fit = with_curve(found).fit
    return [] if fit is None else [note for note in fit.notes if "peak" in note]


def test_served_tokens_faster_than_the_gpu_s_steps_are_said_to_be(tmp_path: Path) -> None:
    """15 GB of weights in 0.5 ms are 30 TB a second, 9 times an H100's 3.35; in 5 ms they can be read."""
    said = "2 of 2 runs are above the device's peak, 9.0 times at most: only several tokens a step, of drafts, make them possible"
    assert served_on(tmp_path, "Llama-3.1-8B", 0.5) == [said]
    assert served_on(tmp_path, "Llama-3.1-8B", 5.0) == []
    unknown = "not checked against the device's peak: the shape of another is not known"
    assert served_on(tmp_path, "another", 5.0) == [unknown]
