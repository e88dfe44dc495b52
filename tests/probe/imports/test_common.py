"""Do dates, quantisation, names and numbers of foreign files come in as what they mean, or not at all?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from probe.curve.errors import CurveRefused
from probe.imports.common import Given, dated, model_name, positive, quantisation
from probe.imports.formats import read_foreign

GIVEN = Given(model="m", gpu="g", engine="e", measured_at="2026-11-01", gpus=1)
RUN = {"completed": 1, "total_input_tokens": 10, "total_output_tokens": 5, "median_tpot_ms": 20.0}


def written(tmp_path: Path, **more: object) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**RUN, **more}))
    return path


@pytest.mark.parametrize(("stated", "meant"), [
    ("20260213-135636", "2026-02-13T13:56:36"),
    (1_760_000_000, "2025-10-09T08:53:20+00:00"),
    ("2026-06-12T01:25:28+02:00", "2026-06-11T23:25:28+00:00"),
    ("2026-06-11T23:25:28", "2026-06-11T23:25:28"),
    ("2026-10-01", "2026-10-01"),
    ("unknown", "unknown"),
])  # fmt: skip
def test_times_are_iso_8601_and_in_utc_where_their_zone_is_known(stated: object, meant: str) -> None:
    assert dated(stated) == meant


@pytest.mark.parametrize("stated", ["yesterday", "2026-13-01", "20261301-000000", "01/02/2026"])
def test_what_is_no_time_is_refused(stated: str) -> None:
    with pytest.raises(CurveRefused, match="measured_at="):
        dated(stated)


@pytest.mark.parametrize(("dtype", "model", "found"), [
    ("bf16", "m", None),
    ("float16", "org/Model-FP8", None),
    ("FP8", "m", "fp8"),
    ("auto", "org/model-awq", "awq"),
    ("auto", "m", None),
    (None, "zai-org/GLM-5-FP8", "fp8"),
    (None, "nvidia/DeepSeek-R1-0528-NVFP4-v2", "nvfp4"),
    (None, "org/model-awq", "awq"),
    (None, "Llama-3.1-8B-Instruct-Q4_K_M.gguf", "q4_k_m"),
    (None, "gemma-3-qat-q4_0", "q4_0"),
    (None, "Qwen3-8B-IQ2_XXS", "iq2_xxs"),
    (None, "mlx/Qwen3-8B-4bit", "4bit"),
    (None, "unsloth/Qwen3-8B-bnb-4bit", "bnb"),
    (None, "Qwen3-8B-w8a16", "w8a16"),
    (None, "Qwen3-4B", None),
    (None, "meta-llama/Llama-3.1-8B", None),
    (None, "org/mint8-small", None),
])  # fmt: skip
def test_weights_are_quantised_by_their_dtype_else_by_the_name(
    dtype: str | None, model: str, found: str | None
) -> None:
    assert quantisation(dtype, model) == found


def test_a_folder_of_the_cache_is_its_repository() -> None:
    assert model_name("/models/models--openai--gpt-oss-120b/snapshots/b5c9/") == "openai/gpt-oss-120b"
    assert model_name("/data/llama/") == "/data/llama"


def test_a_dtype_that_was_given_changes_answers_as_one_that_was_stated(tmp_path: Path) -> None:
    [found] = read_foreign("vllm-bench-serve", written(tmp_path), replace(GIVEN, dtype="fp8"))
    assert found.model.quantization == "fp8"


@pytest.mark.parametrize(("field", "value", "said"), [
    ("median_tpot_ms", -20.0, r"tpot_median=-0.02: a number from 0"),
    ("output_throughput", -1.0, "output_tokens_per_second=-1.0"),
    ("median_tpot_ms", float("nan"), "median_tpot_ms=nan: a number is expected"),
    ("median_tpot_ms", "fast", "median_tpot_ms='fast': a number is expected"),
    ("failed", float("nan"), "failed=nan: a number is expected"),
    ("failed", "x", "failed='x': a number is expected"),
    ("failed", [1], r"failed=\[1\]: a number is expected"),
])  # fmt: skip
def test_a_figure_that_can_t_be_one_is_refused_by_its_name(
    field: str, value: object, said: str, tmp_path: Path
) -> None:
    with pytest.raises(CurveRefused, match=said):
        read_foreign("vllm-bench-serve", written(tmp_path, **{field: value}), GIVEN)


def test_how_many_gpus_a_replica_has_is_asked_for_as_dollars_go_by_it(tmp_path: Path) -> None:
    with pytest.raises(CurveRefused, match="--gpus"):
        read_foreign("vllm-bench-serve", written(tmp_path), replace(GIVEN, gpus=None))


def test_a_file_that_is_not_there_is_refused_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(CurveRefused, match=r"none\.json"):
        read_foreign("vllm-bench-serve", tmp_path / "none.json", GIVEN)


def test_two_setups_of_one_name_do_not_take_each_other_s_place(tmp_path: Path) -> None:
    for index, model in enumerate(("a/m", "b/m")):
        (tmp_path / f"{index}.json").write_text(json.dumps({**RUN, "model_id": model}))
    with pytest.raises(CurveRefused, match="several setups of this name"):
        read_foreign("inferencex", tmp_path, replace(GIVEN, model=None))


@pytest.mark.parametrize("value", [0, -1, "1e308"])
def test_what_is_divided_by_is_above_nothing(value: object) -> None:
    with pytest.raises(CurveRefused, match=f"pace={value!r}"):
        positive({"pace": value}, "pace")


def test_runs_of_two_engines_are_one_setup_only_where_the_engine_is_given(tmp_path: Path) -> None:
    for engine in ("vllm", "sglang"):
        (tmp_path / f"{engine}.json").write_text(json.dumps({**RUN, "backend": engine}))
    with pytest.raises(CurveRefused, match=r"backend=\['sglang', 'vllm'\]: one setup at a time"):
        read_foreign("vllm-bench-serve", tmp_path, replace(GIVEN, engine=None))
    [found] = read_foreign("vllm-bench-serve", tmp_path, GIVEN)
    assert found.engine.name == "e"
