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

GIVEN = Given(model="m", gpu="g", engine="e", measured_at="2026-11-01", gpus=1)


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


def test_prompts_of_more_tokens_than_a_batch_takes_are_several_equal_steps(tmp_path: Path) -> None:
    """8 prompts of 512 are 4,096 tokens, two steps of 2,048 in 0.9 s; pairs are 4,096 * 256, half of them a step."""
    record = {"pp": 512, "tg": 0, "pl": 8, "t_pp": 0.9, "t_tg": 0.0, "n_batch": 2048}
    [result] = read_foreign("llama-batched-bench", written(tmp_path, json.dumps(record)), GIVEN)
    assert result.points == [Point(kind="prefill", seconds=0.45, new=2048, pairs=524_288.0)]


def test_guidellm_since_0_8_keeps_model_and_load_in_its_configuration(tmp_path: Path) -> None:
    """Epoch seconds 1,760,000,000 are 2025-10-09 08:53:20 UTC."""
    counts = {"successful": {"mean": 100, "median": 100}}
    one = {
        "metrics": {"prompt_token_count": counts, "output_token_count": counts},
        "config": {"strategy": {"type_": "poisson", "rate": 2.5}},
        "start_time": 1_760_000_000.0,
    }
    report = {"config": {"spec": {"backend": {"model": "llama"}}}, "benchmarks": [one]}
    [result] = read_foreign("guidellm", written(tmp_path, report), Given(gpu="g", gpus=1))
    assert (result.model.name, result.run.measured_at) == ("llama", "2025-10-09T08:53:20+00:00")
    assert result.served[0].request_rate == 2.5


def test_aiperf_since_0_13_keeps_models_and_phases_in_lists(tmp_path: Path) -> None:
    """The warm-up's users are not those of the measurement; two GPUs of telemetry are the replica."""
    gpu = {"gpu_name": "NVIDIA H200"}
    export: dict[str, Any] = {
        "input_config": {
            "models": {"items": [{"name": "llama"}]},
            "phases": [{"kind": "warmup", "concurrency": 1}, {"kind": "profiling", "concurrency": 8}],
        },
        "input_sequence_length": {"unit": "tokens", "avg": 512},
        "output_sequence_length": {"unit": "tokens", "avg": 64},
        "request_count": {"unit": "requests", "avg": 40},
        "start_time": "2026-10-01T12:00:00+02:00",
        "telemetry_data": {"endpoints": {"n1": {"gpus": {"0": gpu, "1": gpu}}}},
    }
    [result] = read_foreign("aiperf", written(tmp_path, export), Given())
    assert (result.model.name, result.device.gpu, result.device.count) == ("llama", "NVIDIA H200", 2)
    assert (result.served[0].concurrency, result.served[0].requests) == (8, 40)
    assert result.run.measured_at == "2026-10-01T10:00:00+00:00"
    export["input_config"]["phases"].append({"kind": "profiling", "concurrency": 16})
    assert one_run("aiperf", written(tmp_path, export)).concurrency is None
    with pytest.raises(CurveRefused, match="ended early"):
        read_foreign("aiperf", written(tmp_path, {**export, "is_complete": False}), Given())


def telemetry(**gpus: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """An export with GPUs by endpoint and key."""
    return {
        "input_config": {"endpoint": {"model_names": ["llama"]}},
        "input_sequence_length": {"unit": "tokens", "avg": 512},
        "output_sequence_length": {"unit": "tokens", "avg": 64},
        "start_time": "2026-10-01T12:00:00",
        "telemetry_data": {"endpoints": {name: {"gpus": found} for name, found in gpus.items()}},
    }


def test_a_gpu_that_two_endpoints_read_is_one(tmp_path: Path) -> None:
    """One of two by its uuid; without uuids each that an endpoint lists; a name that one of them lacks is the other's."""
    gpu, other = ({"gpu_name": "NVIDIA H200", "gpu_uuid": uuid} for uuid in ("GPU-0", "GPU-1"))
    plain = {"gpu_name": "NVIDIA H200"}
    for export, count in (
        (telemetry(a={"gpu_0": gpu}, b={"gpu_0": gpu}), 1),
        (telemetry(a={"gpu_0": gpu, "gpu_1": other}, b={"gpu_0": gpu}), 2),
        (telemetry(a={"gpu_0": plain}, b={"gpu_0": plain}), 2),
        (telemetry(a={"gpu_0": {}, "gpu_1": plain}), 2),
    ):
        [result] = read_foreign("aiperf", written(tmp_path, export), Given())
        assert (result.device.gpu, result.device.count) == ("NVIDIA H200", count)
    with pytest.raises(CurveRefused, match="give --gpu"):
        read_foreign("aiperf", written(tmp_path, telemetry(a={"gpu_0": {}})), Given())


@pytest.mark.parametrize(("name", "document", "said"), [
    ("aiperf", {"input_config": "x"}, "input_config='x': an object is expected"),
    ("aiperf", {"input_config": {"phases": ["x"]}}, r"phases\[0\]='x': an object is expected"),
    ("aiperf", {"input_config": {"phases": "x"}}, "phases='x': a list of objects is expected"),
    ("aiperf", {"input_config": {"models": {"items": [1]}}}, r"models\.items\[0\]=1: an object is expected"),
    ("aiperf", telemetry(a={"gpu_0": "x"}), "a gpu_0='x': an object is expected"),  # type: ignore[dict-item]
    ("guidellm", {"benchmarks": [{}], "metadata": "x"}, "metadata='x': an object is expected"),
    ("guidellm", {"benchmarks": ["x"]}, r"benchmarks\[0\]='x': an object is expected"),
    ("guidellm", {"benchmarks": [{"metrics": [1]}]}, r"benchmarks\[0\] metrics=\[1\]: an object is expected"),
    ("guidellm", {"benchmarks": [{}], "config": {"spec": "x"}}, "spec='x': an object is expected"),
    ("forward-pass-metrics", {"version": 1, "scheduled_requests": [1]}, r"line 1 scheduled_requests=\[1\]: an object"),
    ("inferencex", {"isl": 1, "osl": 1, "gpu": "x", "metrics": {"successful_requests": 1}}, "gpu='x': an object"),
])  # fmt: skip
def test_what_is_no_object_is_refused_by_its_name(name: str, document: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(CurveRefused, match=said):
        read_foreign(name, written(tmp_path, document), GIVEN)


def test_milliseconds_and_seconds_of_one_figure_must_agree(tmp_path: Path) -> None:
    record = {"completed": 1, "total_input_tokens": 1, "total_output_tokens": 2, "mean_ttft_ms": 50, "mean_ttft": 50}
    with pytest.raises(CurveRefused, match="milliseconds and seconds"):
        one_run("vllm-bench-serve", written(tmp_path, record))


@pytest.mark.parametrize("name", ["aiperf", "guidellm", "inferencex", "vllm-bench-serve"])
def test_what_is_no_json_is_refused_with_the_file_s_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(CurveRefused, match=r"run\.json"):
        read_foreign(name, written(tmp_path, "{"), GIVEN)


def test_a_line_of_no_sequence_is_refused(tmp_path: Path) -> None:
    record = {"pp": 16, "tg": 8, "pl": 0, "t_pp": 1.0, "t_tg": 1.0}
    with pytest.raises(CurveRefused, match="line 1 pl=0"):
        read_foreign("llama-batched-bench", written(tmp_path, json.dumps(record)), GIVEN)
