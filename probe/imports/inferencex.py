"""What do InferenceX's files say? Bench-serve results, per-configuration aggregates, agentic runs, and a table of points.

Seconds and milliseconds differ by file: keys that end in _ms are milliseconds, the same keys without it are seconds.
Every run is held to its own parts. A setup is a model, hardware, engine and parallelism.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import UNKNOWN, ResultFile, Served
from probe.imports.bench_serve import latencies, metrics, run_of
from probe.imports.common import (
    Given,
    counted,
    figure,
    model_name,
    number,
    part,
    read_json,
    read_rows,
    seconds,
    setup,
    whole,
)
from probe.imports.parts import held_to_parts

_TOOL = "inferencex"
# What a file's name says where the record doesn't: tp8, dep8, tp8-ep1 before the lengths; 16 GPUs; the precision.
_PARALLEL = re.compile(r"_((?:tp|tep|dep)\d+(?:-ep\d+)?)(?=[-_])")
_GPUS, _PRECISION = re.compile(r"_gpus_(\d+)(?=_)"), re.compile(r"_(bf16|fp16|fp8|fp4|int4)_")
_COLUMNS = (
    *("model", "hw", "framework", "parallel", "gpus", "isl", "osl", "concurrency", "requests", "duration_s"),
    *("output_tok_s", "file"),
)


class Setup(NamedTuple):
    """What makes runs comparable; empty where neither the record nor the file's name says it."""

    model: str
    gpu: str
    engine: str
    parallel: str
    gpus: str
    precision: str
    speculation: str = ""


def read(path: Path, given: Given) -> list[ResultFile]:
    """One result file a setup, runs in the order of their load."""
    if path.suffix == ".csv":
        rows = [(*_row(record), "") for record in read_rows(path, *_COLUMNS)]
    else:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        rows = [_file(one, read_json(one)) for one in files]
    setups: dict[Setup, list[tuple[Served, str]]] = {}
    for key, run, at in rows:
        setups.setdefault(key, []).append((run, at))
    if not setups:
        raise CurveRefused("file", str(path), "no InferenceX result is here")
    return [_result(key, runs, path, given) for key, runs in setups.items()]


def _result(key: Setup, runs: list[tuple[Served, str]], path: Path, given: Given) -> ResultFile:
    """Dated by its last run."""
    said = (key.model, key.gpu, key.engine, key.parallel, key.precision, key.speculation)
    name = "-".join(part.rsplit("/", 1)[-1] for part in said if part).replace(" ", "_")
    at, dtype = max(at for _, at in runs) or UNKNOWN, key.precision or None
    base = setup(
        name, given, path, model=key.model, gpu=key.gpu, engine=key.engine, gpus=key.gpus or None, at=at, dtype=dtype
    )
    options = {name: value for name, value in (("parallel", key.parallel), ("precision", key.precision)) if value}
    drafts = {"method": key.speculation} if key.speculation else None
    described = msgspec.structs.replace(base.engine, options=options, speculative=drafts)
    ordered = sorted(
        (run for run, _ in runs), key=lambda run: (run.input_tokens, run.output_tokens, run.concurrency or 0)
    )
    return msgspec.structs.replace(base, served=ordered, engine=described, metrics=metrics(_TOOL))


def _file(path: Path, record: Mapping[str, Any]) -> tuple[Setup, Served, str]:
    at = str(record.get("date") or record.get("ts") or "")
    if "users" in record:
        return _setup(record, path), _agentic(record, path.name), at
    if isinstance(record.get("metrics"), dict):
        return _setup(record, path), _nested(record, path.name), at
    if "tput_per_gpu" in record:
        return _setup(record, path), _aggregate(record, path.name), at
    return _setup(record, path), run_of(record, path.name), at


def _setup(record: Mapping[str, Any], path: Path) -> Setup:
    """Of the record; what it leaves out, of the file's name. GPUs are those of its parallelism: a node may have more."""
    tp, ep = record.get("tp"), record.get("ep")
    stem = f"_{path.stem}_"
    parallel = "".join(f"{name}{value}" for name, value in (("tp", tp), ("ep", ep)) if value)
    parallel = parallel or _part(_PARALLEL, stem)
    offload = record.get("offload_mode")
    stated = record.get("dp_attention")
    # Another arm than the same GPUs without it.
    attention = "dpatrue" in stem if stated is None else str(stated).lower() == "true"
    split = re.match(r"(?:tp|tep|dep)(\d+)", parallel)
    spec = str(record.get("spec_decoding") or _part(re.compile(r"_spec-([a-z0-9]+)_"), stem))
    return Setup(
        model=model_name(record.get("model") or record.get("model_id")),
        gpu=str(record.get("hw") or ""),
        engine=str(record.get("framework") or record.get("backend") or "vllm"),
        parallel=parallel + ("-dpa" if attention else "") + (f"-offload-{offload}" if offload else ""),
        gpus=split[1] if split else _part(_GPUS, stem),
        precision=str(record.get("precision") or _part(_PRECISION, stem)),
        speculation="" if spec == "none" else spec,
    )


def _part(pattern: re.Pattern[str], stem: str) -> str:
    found = pattern.search(stem)
    return found[1] if found else ""


def _agentic(record: Mapping[str, Any], where: str) -> Served:
    """Users that work through tasks with growing contexts. What was served, not what was asked for; hits as the server counted them."""
    asked, completed = (counted(record, f"num_requests_{name}") for name in ("total", "successful"))
    run = Served(
        input_tokens=figure(record, "mean_input_tokens"),
        output_tokens=figure(record, "mean_output_tokens_actual"),
        concurrency=number(record, "users"),
        requests=asked,
        failed=asked - completed,
        duration=number(record, "duration_seconds"),
        output_tokens_per_second=number(record, "output_tput_tps"),
        total_tokens_per_second=number(record, "total_tput_tps"),
        cache_hit_share=number(record, "server_gpu_cache_hit_rate"),
        e2e_median=seconds(record, "median_ttlt"),
        label=where,
        **latencies(record),
    )
    return held_to_parts(run, where, completed)


def _nested(record: Mapping[str, Any], where: str) -> Served:
    """Outputs may end early, so their length is what was served, not the `osl` that was asked for."""
    inner = record["metrics"]
    output, requests = number(inner, "output_token_throughput"), number(inner, "request_throughput")
    run = Served(
        input_tokens=figure(record, "isl"),
        output_tokens=output / requests if output and requests else figure(record, "osl"),
        concurrency=number(record, "conc"),
        requests=counted(inner, "successful_requests"),
        output_tokens_per_second=output,
        total_tokens_per_second=number(inner, "total_token_throughput"),
        requests_per_second=requests,
        e2e_median=seconds(inner, "median_e2el"),
        power_w=number(part(record, "gpu"), "total_avg_power_w"),
        label=where,
        **latencies(inner),
    )
    return held_to_parts(run, where, closed=True)


def _aggregate(record: Mapping[str, Any], where: str) -> Served:
    gpus = number(record, "tp")
    if gpus is None:
        raise CurveRefused("tp", None, f"{where}: figures a GPU are of no use without the GPUs")
    output, total = number(record, "output_tput_per_gpu"), number(record, "tput_per_gpu")
    run = Served(
        input_tokens=figure(record, "isl"),
        output_tokens=figure(record, "osl"),
        concurrency=number(record, "conc"),
        output_tokens_per_second=None if output is None else output * gpus,
        total_tokens_per_second=None if total is None else total * gpus,
        e2e_median=seconds(record, "median_e2el"),
        label=where,
        **latencies(record),
    )
    return held_to_parts(run, where, closed=True)


def _row(record: Mapping[str, str]) -> tuple[Setup, Served]:
    run = Served(
        input_tokens=figure(record, "isl"),
        output_tokens=_answer(record),
        concurrency=number(record, "concurrency"),
        requests=whole(record, "requests", record["file"]),
        duration=number(record, "duration_s"),
        output_tokens_per_second=number(record, "output_tok_s"),
        ttft_median=seconds(record, "median_ttft"),
        tpot_median=seconds(record, "median_tpot"),
        label=record["file"],
    )
    model, gpu, engine, parallel, gpus = (record[name] for name in ("model", "hw", "framework", "parallel", "gpus"))
    return Setup(model, gpu, engine, parallel, gpus, ""), held_to_parts(run, record["file"], closed=True)


def _answer(record: Mapping[str, str]) -> float:
    """Tokens of an answer as served, else the `osl` that was asked for: answers may end early, on real GPUs after a seventh. Raises
    CurveRefused where it would be less than an eighth of that, or more than twice."""
    asked, requests = figure(record, "osl"), whole(record, "requests", record["file"])
    duration, throughput = number(record, "duration_s"), number(record, "output_tok_s")
    if not requests or not duration or not throughput:
        return asked
    served = throughput * duration / requests
    if not 1 / 8 <= served / asked <= 2:
        said = f"over {duration:g} s and {requests:g} requests an answer of {asked:g} tokens would have {served:.4g}: units contradict"
        raise CurveRefused(f"{record['file']} output_tok_s", throughput, said)
    return served
