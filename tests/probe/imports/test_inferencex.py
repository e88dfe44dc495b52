"""Do InferenceX's points come in with the right units, and does a curve that falls stay one that falls?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probe.curve.curve import CurveDocument
from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile
from probe.fit.result import with_curve
from probe.imports.bench_serve import run_of
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from tests.shared_data import shared

FOLDERS = ("bench_serve_json", "multinode_bench_serve", "together_b200")


def read(name: str) -> list[ResultFile]:
    return read_foreign("inferencex", shared("inferencex") / name, Given(gpu=None if "csv" in name else "b200"))


def test_the_table_of_points_imports_whole() -> None:
    assert sum(len(one.served) for one in read("throughput_points.csv")) == 153


def test_raw_files_and_the_table_agree_whatever_their_unit() -> None:
    """Seconds in 124 files, milliseconds in 29: the same 153 first tokens and paces as in the table, which is in seconds."""
    table = {run.label: run for one in read("throughput_points.csv") for run in one.served}
    raw = [(f"{folder}/{run.label}", run) for folder in FOLDERS for one in read(folder) for run in one.served]
    assert len(raw) == 153
    for name, run in raw:
        assert run.ttft_median == pytest.approx(table[name].ttft_median, rel=1e-2), name
        assert run.tpot_median == pytest.approx(table[name].tpot_median, rel=1e-2), name
        assert run.output_tokens_per_second == pytest.approx(table[name].output_tokens_per_second, rel=1e-3), name


@pytest.mark.parametrize(("folder", "setups"), [
    ("bench_serve_json", {"GLM-5-FP8": (8, "fp8"), "MiniMax-M2.5": (8, None)}),
    ("multinode_bench_serve", {"gpt-oss-120b": (16, None), "MiniMax-M2.5": (16, None)}),
    ("together_b200", {"DeepSeek-R1-0528-FP4": (8, "fp4"), "gpt-oss-120b": (4, "fp4")}),
])  # fmt: skip
def test_gpus_and_precision_come_from_the_record_or_the_file_s_name(folder: str, setups: dict[str, Any]) -> None:
    """Half of a node of eight runs gpt-oss; dollars a million go by the GPUs that serve."""
    found = {one.model.name.rsplit("/", 1)[-1]: (one.device.count, one.model.quantization) for one in read(folder)}
    assert found == setups


def test_a_setup_is_dated_by_its_last_run() -> None:
    [first, *_] = read("together_b200")
    assert first.run.measured_at.startswith("2026-06-1")
    assert first.run.measured_at.endswith("+00:00")


def test_a_run_whose_parts_do_not_make_its_whole_is_refused() -> None:
    """20 s end to end against 3,000 + 127 * 0.14: the first token was meant in milliseconds."""
    record = {
        "completed": 1,
        "total_input_tokens": 10,
        "total_output_tokens": 128,
        "median_ttft": 3000,
        "median_tpot": 0.14,
        "median_e2el": 20,
    }
    with pytest.raises(CurveRefused, match="units"):
        run_of(record, "x")


def test_cache_collapse_on_agentic_work_stays_visible() -> None:
    """B200, tensor parallel 4, no offload: output tokens a second by users as served, up and down; hits fall from 95 % to 7 % at 24."""
    agentic = [one for one in read("agentic_agg_json") if "b200-vllm-tp4ep4-offload-off" in one.result_id]
    assert len(agentic) == 1
    result = with_curve(agentic[0])
    curve = CurveDocument.of(json.loads(json.dumps(result.curve)))
    users = np.array([run.concurrency for run in result.served], float)
    served = np.array([run.output_tokens_per_second for run in result.served], float)
    shown = curve.answer(users, curve.file["domain"]["context"][0]).throughput
    np.testing.assert_allclose(shown, served, rtol=1e-9)
    assert (np.diff(shown) < 0).any()
    assert result.fit is not None
    assert any("cache hits fall from 95% at 1 to 0%" in note for note in result.fit.notes)


def test_what_a_run_does_not_state_is_not_0(tmp_path: Path) -> None:
    """A run without the lengths of its prompts or outputs is refused by the field."""
    path = next(
        one for one in sorted(shared("inferencex/agentic_agg_json").iterdir()) if "tp4_users8_offloadoff" in one.name
    )
    record = json.loads(path.read_bytes())
    for field in ("mean_input_tokens", "mean_output_tokens_actual"):
        (tmp_path / path.name).write_text(json.dumps({**record, field: None}))
        with pytest.raises(CurveRefused, match=field):
            read_foreign("inferencex", tmp_path, Given())


def test_attention_in_data_parallel_is_a_setup_of_its_own(tmp_path: Path) -> None:
    """The same GPUs with and without it: two curves, not the mean of both."""
    files = sorted(
        path
        for path in shared("inferencex/agentic_agg_json").iterdir()
        if "b200-vllm_tp8" in path.name or "tp8" in path.name
    )[:4]
    for path in files:
        record = json.loads(path.read_bytes())
        for stated in ("false", "true"):
            (tmp_path / f"{stated}-{path.name}").write_text(json.dumps(record | {"dp_attention": stated}))
    before = {one.result_id for one in read_foreign("inferencex", tmp_path, Given(gpu="b200"))}
    assert before
    assert len([name for name in before if "-dpa" in name]) * 2 == len(before)


@pytest.mark.parametrize("stated", [{}, {"dp_attention": None}])
def test_where_a_record_does_not_say_so_the_file_s_name_does(stated: dict[str, object], tmp_path: Path) -> None:
    record = {"completed": 1, "total_input_tokens": 10, "total_output_tokens": 5, "model_id": "m", "tp": 8, **stated}
    for name in ("a_dpatrue", "a_dpafalse"):
        (tmp_path / f"{name}.json").write_text(json.dumps(record))
    found = [one.engine.options["parallel"] for one in read_foreign("inferencex", tmp_path, Given(gpu="g"))]
    assert sorted(found) == ["tp8", "tp8-dpa"]
