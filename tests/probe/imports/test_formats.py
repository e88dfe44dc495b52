"""Does each tool's figure arrive under the name that means the same, in seconds?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from probe.curve.errors import CurveRefused
from probe.curve.schema import Point, Served
from probe.imports.common import Given
from probe.imports.formats import read_foreign

GIVEN = Given(model="m", gpu="g", engine="e", measured_at="2026-11-01")


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "run.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def one_run(name: str, path: Path) -> Served:
    [result] = read_foreign(name, path, GIVEN)
    [run] = result.served
    return run


def test_vllm_bench_serve(tmp_path: Path) -> None:
    """Milliseconds by their suffix; lengths are totals over completed requests."""
    record = {
        "completed": 10,
        "failed": 1,
        "total_input_tokens": 5120,
        "total_output_tokens": 1280,
        "request_rate": "inf",
        "max_concurrency": 4,
        "output_throughput": 200.0,
        "median_ttft_ms": 50.0,
        "median_tpot_ms": 20.0,
        "median_itl_ms": 19.0,
    }
    run = one_run("vllm-bench-serve", written(tmp_path, record))
    assert (run.input_tokens, run.output_tokens, run.failed, run.request_rate) == (512, 128, 1, None)
    assert (run.ttft_median, run.tpot_median, run.itl_median) == (0.05, 0.02, 0.019)
    assert run.cached_tokens is None


def test_guidellm_s_time_per_output_token_is_not_taken_for_tpot(tmp_path: Path) -> None:
    """It has the first token in it; inter_token_latency is what others call TPOT."""

    def spread(mean: float, median: float) -> dict[str, Any]:
        return {"successful": {"mean": mean, "median": median}}

    metrics = {
        "prompt_token_count": spread(256, 256),
        "output_token_count": spread(100, 100),
        "request_concurrency": spread(7.5, 8),
        "time_to_first_token_ms": spread(90, 80),
        "time_per_output_token_ms": spread(31, 30),
        "inter_token_latency_ms": spread(21, 20),
        "request_latency": spread(2.2, 2.1),
    }
    path = written(tmp_path, {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [{"metrics": metrics}]})
    [result] = read_foreign("guidellm", path, GIVEN)
    [run] = result.served
    assert (run.tpot_median, run.itl_median, run.ttft_median) == (0.02, None, 0.08)
    tag = next(one for one in result.metrics if one.name == "tpot")
    assert (tag.tool, tag.tool_version) == ("guidellm", "0.8.1")


def test_aiperf_states_its_units_and_they_are_kept_to(tmp_path: Path) -> None:
    export = {
        "input_config": {"endpoint": {"model_names": ["llama"]}, "loadgen": {"concurrency": 8}},
        "input_sequence_length": {"unit": "tokens", "avg": 512},
        "output_sequence_length": {"unit": "tokens", "avg": 64},
        "time_to_first_token": {"unit": "ms", "avg": 110, "p50": 100},
        "inter_token_latency": {"unit": "ms", "avg": 13, "p50": 12},
        "request_latency": {"unit": "s", "avg": 1, "p50": 0.9},
    }
    run = one_run("aiperf", written(tmp_path, export))
    assert (run.ttft_median, run.tpot_median, run.e2e_median, run.concurrency) == (0.1, 0.012, 0.9, 8)
    export["inter_token_latency"] = {"unit": "tokens/sec", "avg": 13, "p50": 12}
    with pytest.raises(CurveRefused, match=r"inter_token_latency\.unit='tokens/sec'"):
        one_run("aiperf", written(tmp_path, export))


def test_llama_batched_bench_lines_are_steps(tmp_path: Path) -> None:
    """128 tokens in 4 s are steps of 31.25 ms at a mean context of 128 + 129/2 = 192.5; eight prompts in one prefill of 0.9 s."""
    line = json.dumps({"pp": 128, "tg": 128, "pl": 8, "t_pp": 0.9, "t_tg": 4.0, "is_pp_shared": 0})
    [result] = read_foreign("llama-batched-bench", written(tmp_path, f"main: n_kv_max = 2048\n{line}\n"), GIVEN)
    assert result.points == [
        Point(kind="decode", seconds=0.03125, batch=8, context_sum=1540),
        Point(kind="prefill", seconds=0.9, new=1024, pairs=65536.0),
    ]


def test_milliseconds_and_seconds_of_one_figure_must_agree(tmp_path: Path) -> None:
    record = {"completed": 1, "total_input_tokens": 1, "total_output_tokens": 2, "mean_ttft_ms": 50, "mean_ttft": 50}
    with pytest.raises(CurveRefused, match="milliseconds and seconds"):
        one_run("vllm-bench-serve", written(tmp_path, record))


@pytest.mark.parametrize("name", ["aiperf", "guidellm", "inferencex", "vllm-bench-serve"])
def test_what_is_no_json_is_refused_with_the_file_s_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(CurveRefused, match=r"run\.json"):
        read_foreign(name, written(tmp_path, "{"), GIVEN)
