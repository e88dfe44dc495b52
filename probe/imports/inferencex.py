"""What do InferenceX's files say? Bench-serve results, per-configuration aggregates, agentic runs, and a table of points.

Seconds and milliseconds differ by file: keys that end in _ms are milliseconds, the same keys without it are seconds.
Every run is held to its own parts (end to end is about first token plus tokens). A setup is a model, hardware, engine and parallelism.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile, Served
from probe.imports.bench_serve import latencies, metrics, run_of
from probe.imports.common import Given, check_units, number, read_json, seconds, setup

_TOOL = "inferencex"


def read(path: Path, given: Given) -> list[ResultFile]:
    """One result file a setup, runs in the order of their load."""
    if path.suffix == ".csv":
        rows = [_row(record) for record in csv.DictReader(path.read_text(encoding="utf-8").splitlines())]
    else:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        rows = [_file(one, read_json(one)) for one in files]
    setups: dict[tuple[str, ...], list[Served]] = {}
    for key, run in rows:
        setups.setdefault(key, []).append(run)
    if not setups:
        raise CurveRefused("file", str(path), "no InferenceX result is here")
    return [_result(key, runs, path, given) for key, runs in setups.items()]


def _result(key: tuple[str, ...], runs: list[Served], path: Path, given: Given) -> ResultFile:
    model, gpu, engine, parallel, gpus, precision = key
    name = "-".join(part.rsplit("/", 1)[-1] for part in (model, gpu, engine, parallel, precision) if part).replace(
        " ", "_"
    )
    at = given.measured_at or "unknown"
    base = setup(name, given, path, model=model, gpu=gpu, engine=engine, gpus=float(gpus), at=at)
    described = msgspec.structs.replace(
        base.engine,
        options={name: value for name, value in (("parallel", parallel), ("precision", precision)) if value},
    )
    weights = msgspec.structs.replace(base.model, quantization=precision or None)
    ordered = sorted(runs, key=lambda run: (run.input_tokens, run.output_tokens, run.concurrency or 0))
    return msgspec.structs.replace(base, served=ordered, engine=described, model=weights, metrics=metrics(_TOOL))


def _file(path: Path, record: Any) -> tuple[tuple[str, ...], Served]:
    if "users" in record:
        return _setup(record, path), _agentic(record, path.name)
    if "metrics" in record:
        return _setup(record, path), _nested(record, path.name)
    if "tput_per_gpu" in record:
        return _setup(record, path), _aggregate(record, path.name)
    return _setup(record, path), run_of(record, path.name)


def _setup(record: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """(model, hardware, engine, parallelism, GPUs, precision); what the record leaves out is empty, to be given."""
    tp, ep = record.get("tp"), record.get("ep")
    parallel = "".join(f"{name}{value}" for name, value in (("tp", tp), ("ep", ep)) if value)
    offload = record.get("offload_mode")
    parallel += f"-offload-{offload}" if offload else ""
    gpus = number(record.get("gpu") or {}, "n_gpus") or number(record, "tp") or 1
    engine = str(record.get("framework") or record.get("backend") or "vllm")
    if not parallel and path.stem.count("_isl") == 1:
        parallel = path.stem.split("_isl")[0].rsplit("_", 1)[-1]
    return (
        str(record.get("model") or record.get("model_id") or ""),
        str(record.get("hw") or ""),
        engine,
        parallel,
        str(gpus),
        str(record.get("precision") or ""),
    )


def _agentic(record: Mapping[str, Any], where: str) -> Served:
    """Users that work through tasks with growing contexts. What was served, not what was asked for; hits as the server counted them."""
    return Served(
        input_tokens=number(record, "mean_input_tokens") or 0.0,
        output_tokens=number(record, "mean_output_tokens_actual") or 0.0,
        concurrency=number(record, "users"),
        requests=int(record["num_requests_total"]),
        failed=int(record["num_requests_total"]) - int(record["num_requests_successful"]),
        duration=number(record, "duration_seconds"),
        output_tokens_per_second=number(record, "output_tput_tps"),
        total_tokens_per_second=number(record, "total_tput_tps"),
        cache_hit_share=number(record, "server_gpu_cache_hit_rate"),
        e2e_median=seconds(record, "median_ttlt"),
        label=where,
        **latencies(record),
    )


def _nested(record: Mapping[str, Any], where: str) -> Served:
    """Outputs may end early, so their length is what was served, not the `osl` that was asked for."""
    inner = record["metrics"]
    output, requests = number(inner, "output_token_throughput"), number(inner, "request_throughput")
    run = Served(
        input_tokens=float(record["isl"]),
        output_tokens=output / requests if output and requests else float(record["osl"]),
        concurrency=number(record, "conc"),
        requests=int(inner["successful_requests"]),
        output_tokens_per_second=output,
        total_tokens_per_second=number(inner, "total_token_throughput"),
        requests_per_second=requests,
        e2e_median=seconds(inner, "median_e2el"),
        power_w=number(record.get("gpu") or {}, "total_avg_power_w"),
        label=where,
        **latencies(inner),
    )
    return check_units(run, where)


def _aggregate(record: Mapping[str, Any], where: str) -> Served:
    gpus = number(record, "tp") or 1.0
    output, total = number(record, "output_tput_per_gpu"), number(record, "tput_per_gpu")
    run = Served(
        input_tokens=float(record["isl"]),
        output_tokens=float(record["osl"]),
        concurrency=number(record, "conc"),
        output_tokens_per_second=None if output is None else output * gpus,
        total_tokens_per_second=None if total is None else total * gpus,
        e2e_median=seconds(record, "median_e2el"),
        label=where,
        **latencies(record),
    )
    return check_units(run, where)


def _row(record: Mapping[str, str]) -> tuple[tuple[str, ...], Served]:
    run = Served(
        input_tokens=float(record["isl"]),
        output_tokens=float(record["osl"]),
        concurrency=number(record, "concurrency"),
        requests=None if not record["requests"] else int(record["requests"]),
        duration=number(record, "duration_s"),
        output_tokens_per_second=number(record, "output_tok_s"),
        ttft_median=seconds(record, "median_ttft"),
        tpot_median=seconds(record, "median_tpot"),
        label=record["file"],
    )
    key = tuple(record[name] for name in ("model", "hw", "framework", "parallel", "gpus"))
    return (*key, ""), run
