"""Are figures in contradictory units refused by every reader, and do real runs pass?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probe.curve.errors import CurveRefused
from probe.curve.schema import Served
from probe.imports.common import Given
from probe.imports.formats import read_foreign
from probe.imports.parts import held_to_parts
from tests.shared_data import shared

GIVEN = Given(model="m", gpu="g", engine="e", measured_at="2026-11-01", gpus=1, input_tokens=512)
# 40 requests of 101 tokens in 25 s, 4 at a time: 161.6 tokens a second; 0.5 + 100 * 0.02 = 2.5 s end to end.
VLLM: dict[str, Any] = {
    "completed": 40,
    "max_concurrency": 4,
    "total_input_tokens": 20480,
    "total_output_tokens": 4040,
    "duration": 25.0,
    "output_throughput": 161.6,
    "request_throughput": 1.6,
    "median_ttft_ms": 500.0,
    "mean_ttft_ms": 510.0,
    "p99_ttft_ms": 700.0,
    "median_tpot_ms": 20.0,
    "median_e2el_ms": 2500.0,
}
GUIDELLM = {
    "prompt_token_count": 512,
    "output_token_count": 101,
    "request_concurrency": 4,
    "time_to_first_token_ms": 500,
    "inter_token_latency_ms": 20,
    "request_latency": 2.5,
    "output_tokens_per_second": 161.6,
    "requests_per_second": 1.6,
}
AIPERF: dict[str, Any] = {
    "input_config": {"endpoint": {"model_names": ["m"]}, "loadgen": {"concurrency": 4}},
    "input_sequence_length": {"unit": "tokens", "avg": 512},
    "output_sequence_length": {"unit": "tokens", "avg": 101},
    "request_count": {"unit": "requests", "avg": 40},
    "benchmark_duration": {"unit": "sec", "avg": 25},
    "time_to_first_token": {"unit": "ms", "p50": 500},
    "inter_token_latency": {"unit": "ms", "p50": 20},
    "request_latency": {"unit": "ms", "p50": 2500},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 161.6},
    "request_throughput": {"unit": "requests/sec", "avg": 1.6},
}
AGENTIC = {
    "users": 4,
    "mean_input_tokens": 512,
    "mean_output_tokens_actual": 101,
    "num_requests_total": 50,
    "num_requests_successful": 40,
    "duration_seconds": 25.0,
    "output_tput_tps": 161.6,
    "median_ttft": 0.5,
    "median_itl": 0.02,
    "median_ttlt": 2.5,
    "tp": 1,
}
NESTED = {"successful_requests": 40, "output_token_throughput": 161.6, "request_throughput": 1.6}
NESTED |= {"median_ttft_ms": 500, "median_tpot_ms": 20, "median_e2el_ms": 2500}
AGGREGATE = {"isl": 512, "osl": 101, "conc": 4, "tp": 8, "tput_per_gpu": 122.6, "output_tput_per_gpu": 20.2}
AGGREGATE |= {"median_ttft": 0.5, "median_tpot": 0.02, "median_e2el": 2.5}
ROW = {"file": "one.json", "model": "m", "hw": "g", "framework": "e", "parallel": "tp1", "gpus": 1, "isl": 512}
ROW |= {"osl": 101, "concurrency": 4, "requests": 40, "duration_s": 25, "output_tok_s": 161.6}
ROW |= {"median_ttft_s": 0.5, "median_tpot_s": 0.02}
SERVED = {"config": "C1", "model": "m", "hardware": "g", "engine": "e", "gpus": 1, "precision": "bf16", "rps": 2}
SERVED |= {"request_throughput": 1.6, "tps_output": 161.6, "ttft_mean_ms": 510, "ttft_p50_ms": 500, "ttft_p99_ms": 700}
SERVED |= {"tpot_p50_ms": 20, "e2el_p50_ms": 2500}


def taken(name: str, path: Path, document: Any, given: Given = GIVEN) -> None:
    """Reads it as this format."""
    if path.suffix == ".csv":
        path.write_text("\n".join(",".join(str(one) for one in line) for line in (document, document.values())))
    else:
        path.write_text(json.dumps(document))
    read_foreign(name, path, given)


def benchmark(**more: float) -> dict[str, Any]:
    metrics = {name: {"successful": {"mean": one, "median": one}} for name, one in {**GUIDELLM, **more}.items()}
    return {"benchmarks": [{"metrics": metrics}]}


def changed(name: str, **more: Any) -> dict[str, Any]:
    """AIPerf's export with other parts of one figure."""
    return AIPERF | {name: AIPERF[name] | more}


@pytest.mark.parametrize(("name", "document", "said"), [
    ("vllm-bench-serve", VLLM | {"median_tpot_ms": 0.02}, r"run\.json tpot_median=2e-05: \(2\.5 s end to end"),
    ("vllm-bench-serve", VLLM | {"median_tpot_ms": 200}, r"run\.json tpot_median=0\.2: .*are 0\.02 s"),
    ("vllm-bench-serve", VLLM | {"median_ttft_ms": 5e5, "p99_ttft_ms": 7e5, "mean_ttft_ms": 5e5}, "tpot_median=0.02"),
    ("vllm-bench-serve", VLLM | {"output_throughput": 16160}, "output_tokens_per_second=16160.*are 161.6 a second"),
    ("vllm-bench-serve", VLLM | {"duration": 0.025}, "output_tokens_per_second=161.6: requests over duration"),
    ("vllm-bench-serve", VLLM | {"request_throughput": 96}, "output_tokens_per_second=161.6: requests a second"),
    ("vllm-bench-serve", VLLM | {"p99_ttft_ms": 0.7}, r"ttft_p99=0\.0007: below its median of 0\.5 s"),
    ("vllm-bench-serve", VLLM | {"mean_ttft_ms": 0.51}, r"ttft_mean=0\.00051: below half its median"),
    ("vllm-bench-serve", VLLM | {"median_e2el_ms": None, "median_tpot_ms": 2e4}, "3232 decode at once, of 4 users"),
    ("vllm-bench-serve", VLLM | {"median_e2el_ms": None, "median_tpot_ms": 0.02}, "requests are in flight, of 4"),
    ("guidellm", benchmark(inter_token_latency_ms=0.02), r"benchmarks\[0\] tpot_median=2e-05: "),
    ("guidellm", benchmark(request_latency=2500), r"benchmarks\[0\] tpot_median=0\.02: \(2500 s"),
    ("guidellm", benchmark(output_tokens_per_second=9696), r"benchmarks\[0\] output_tokens_per_second=9696"),
    ("aiperf", changed("inter_token_latency", unit="s"), r"run\.json tpot_median=20\.0: "),
    ("aiperf", changed("output_token_throughput", unit="tokens/min"), r"throughput\.unit='tokens/min': tokens/sec is"),
    ("aiperf", changed("request_throughput", unit="requests/min"), r"unit='requests/min': requests/sec is expected"),
    ("aiperf", changed("output_sequence_length", unit="words"), r"output_sequence_length\.unit='words'"),
    ("aiperf", changed("output_token_throughput", avg=9696), "output_tokens_per_second=9696.0"),
    ("aiperf", changed("benchmark_duration", unit="ms"), "requests over duration"),
    ("inferencex", VLLM | {"median_tpot_ms": 0.02, "tp": 1}, r"run\.json tpot_median=2e-05"),
    ("inferencex", AGENTIC | {"median_itl": 20}, r"run\.json itl_median=20\.0: "),
    ("inferencex", AGENTIC | {"duration_seconds": 25e3}, r"run\.json output_tokens_per_second=161\.6"),
    ("inferencex", {"isl": 1, "osl": 101, "conc": 4, "metrics": NESTED | {"median_tpot_ms": 0.02}}, "tpot_median=2e-05"),
    ("inferencex", AGGREGATE | {"median_tpot": 20}, r"run\.json tpot_median=20\.0"),
    ("served-runs", SERVED | {"tpot_p50_ms": 0.02}, "C1 2/s tpot_median=2e-05"),
    ("served-runs", SERVED | {"e2el_p50_ms": 2.5}, r"C1 2/s tpot_median=0\.02: \(0\.0025 s"),
    ("served-runs", SERVED | {"tps_output": 16160}, r"C1 2/s tpot_median=0\.02"),
    ("inferencex", ROW | {"median_tpot_s": 20}, r"one\.json tpot_median=20\.0: .*3232 decode at once"),
    ("inferencex", ROW | {"median_tpot_s": 2e-5, "median_ttft_s": 5e-4}, r"one\.json tpot_median=2e-05: "),
    ("inferencex", ROW | {"output_tok_s": 16160}, r"one\.json output_tok_s=16160\.0: .*would have 1\.01e\+04"),
    ("inferencex", ROW | {"duration_s": 0.025}, r"one\.json output_tok_s=161\.6: over 0\.025 s"),
])  # fmt: skip
def test_a_figure_in_another_unit_is_refused_by_its_name(
    name: str, document: dict[str, Any], said: str, tmp_path: Path
) -> None:
    table = ("osl" in document and "file" in document) or "rps" in document
    with pytest.raises(CurveRefused, match=said):
        taken(name, tmp_path / ("run.csv" if table else "run.json"), document)


@pytest.mark.parametrize(("name", "document", "file"), [
    ("vllm-bench-serve", VLLM, "run.json"),
    ("vllm-bench-serve", VLLM | {"request_rate": 0.5, "max_concurrency": 40}, "run.json"),
    ("guidellm", benchmark(), "run.json"),
    ("aiperf", AIPERF, "run.json"),
    ("inferencex", AGENTIC, "run.json"),
    ("inferencex", {"isl": 1, "osl": 101, "conc": 4, "metrics": NESTED}, "run.json"),
    ("inferencex", AGGREGATE, "run.json"),
    ("inferencex", ROW, "run.csv"),
    ("served-runs", SERVED, "run.csv"),
])  # fmt: skip
def test_figures_that_agree_are_taken(name: str, document: dict[str, Any], file: str, tmp_path: Path) -> None:
    """A rate below what its users could take is no contradiction: they are a limit then."""
    taken(name, tmp_path / file, document)


def test_every_real_run_agrees_with_itself() -> None:
    """Of InferenceX 153 rows of the table, the 153 files that they were made of, 6 aggregates and 44 agentic runs; 140 others."""
    folders = ("throughput_points.csv", "bench_serve_json", "multinode_bench_serve", "together_b200")
    paths = [shared("inferencex") / name for name in (*folders, "agg_json", "agentic_agg_json")]
    given = replace(GIVEN, model=None, engine=None)
    found = [one for path in paths for one in read_foreign("inferencex", path, given)]
    found += read_foreign("served-runs", shared("served-runs/master_results.csv"), given)
    assert sum(len(one.served) for one in found) == 153 + 153 + 6 + 44 + 140


def test_an_answer_that_ended_early_counts_as_it_was_served() -> None:
    """gpt-oss on B200: 638 answers of 1,024 tokens at most, 8,295.846 a second for 11.358 s: 147.7 each."""
    rows = read_foreign("inferencex", shared("inferencex/throughput_points.csv"), Given())
    [run] = [run for one in rows for run in one.served if "gptoss-fp4_1k1k_untuned_conc64" in run.label]
    assert run.output_tokens == pytest.approx(147.7, abs=0.05)


@pytest.mark.parametrize(("name", "document", "said"), [
    ("vllm-bench-serve", VLLM | {"completed": 2.5}, "completed=2.5"),
    ("vllm-bench-serve", VLLM | {"failed": 2.5}, "failed=2.5"),
    ("aiperf", changed("request_count", avg=2.5), "request_count avg=2.5"),
    ("inferencex", AGENTIC | {"num_requests_total": 50.5}, "num_requests_total=50.5"),
    ("inferencex", AGENTIC | {"num_requests_successful": 40.5}, "num_requests_successful=40.5"),
    ("inferencex", {"isl": 1, "osl": 101, "metrics": NESTED | {"successful_requests": 2.5}}, "successful_requests=2.5"),
    ("inferencex", ROW | {"requests": 2.5}, "one.json requests='2.5'"),
    ("served-runs", SERVED | {"gpus": 2.5}, "gpus=2.5"),
])  # fmt: skip
def test_a_part_of_what_is_counted_is_refused(name: str, document: dict[str, Any], said: str, tmp_path: Path) -> None:
    table = "file" in document or "rps" in document
    given = replace(GIVEN, gpus=None) if name == "served-runs" else GIVEN
    with pytest.raises(CurveRefused, match=f"{said}: a whole number is expected"):
        taken(name, tmp_path / ("run.csv" if table else "run.json"), document, given)


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({"tpot_median": 0.02 * 7.9}, None),
        ({"tpot_median": 0.02 * 8.1}, "tpot_median"),
        ({"tpot_median": 0.02 / 3.9}, None),
        ({"tpot_median": 0.02 / 4.1}, "tpot_median"),
    ],
)
def test_a_pace_is_held_to_an_eighth_and_to_four_times(stated: dict[str, float], field: str | None) -> None:
    """2.5 s end to end less 0.5 to the first token over 100 tokens: 20 ms."""
    _edge(Served(input_tokens=512, output_tokens=101, ttft_median=0.5, e2e_median=2.5, **stated), field)


@pytest.mark.parametrize(
    ("throughput", "field"),
    [
        (161.6 * 1.98, None),
        (161.6 * 2.02, "output_tokens_per_second"),
        (161.6 / 1.98, None),
        (161.6 / 2.02, "output_tokens_per_second"),
    ],
)
def test_a_throughput_is_held_to_a_factor_of_two(throughput: float, field: str | None) -> None:
    """40 requests of 101 tokens in 25 s: 161.6 a second."""
    run = Served(input_tokens=512, output_tokens=101, requests=40, duration=25.0, output_tokens_per_second=throughput)
    _edge(run, field)


@pytest.mark.parametrize(("users", "field"), [(1.65, None), (1.6, "tpot_median")])
def test_no_more_than_twice_the_users_decode_at_once(users: float, field: str | None) -> None:
    """161.6 tokens a second of 20 ms each: 3.232 at once."""
    run = Served(
        input_tokens=512, output_tokens=101, tpot_median=0.02, output_tokens_per_second=161.6, concurrency=users
    )
    _edge(run, field)


@pytest.mark.parametrize(("users", "field"), [(15.9, None), (16.1, "tpot_median")])
def test_of_a_closed_loop_a_quarter_of_the_users_is_in_flight(users: float, field: str | None) -> None:
    """1.6 requests a second of 0.5 + 100 x 0.02 s: 4 in flight; 100 requests are more than four rounds."""
    run = Served(
        input_tokens=512,
        output_tokens=101,
        requests=100,
        ttft_median=0.5,
        tpot_median=0.02,
        output_tokens_per_second=161.6,
        concurrency=users,
    )
    _edge(run, field, closed=True)


def _edge(run: Served, field: str | None, closed: bool = False) -> None:
    if field is None:
        assert held_to_parts(run, "here", closed=closed) is run
        return
    with pytest.raises(CurveRefused, match="units contradict") as refused:
        held_to_parts(run, "here", closed=closed)
    assert refused.value.field == f"here {field}"
