"""What does an AIPerf export (profile_export_aiperf.json) say?

Its inter_token_latency is (latency - first token) / (output - tokens of the first chunk): what vLLM calls TPOT.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import Metric, ResultFile, Served
from probe.imports.common import Given, number, read_json, required, setup

_TOOL = "aiperf"
_TO_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "ns": 1e-9}


def read(path: Path, given: Given) -> list[ResultFile]:
    """One run."""
    export = read_json(path)
    if export.get("was_cancelled") or export.get("is_complete") is False:
        raise CurveRefused(
            "is_complete", export.get("is_complete"), "this run was ended early: its figures are of a part"
        )
    config, gpus = export.get("input_config") or {}, _gpus(export)
    load = _load(config)
    base = setup(
        path.stem,
        given,
        path,
        model=_model(config),
        gpu=gpus[0] if gpus else None,
        engine="openai-compatible server",
        gpus=len(gpus) or None,
        at=export.get("start_time"),
    )
    run = Served(
        input_tokens=required("input_tokens", _plain(export, "input_sequence_length"), given.input_tokens),
        output_tokens=required("output_tokens", _plain(export, "output_sequence_length"), given.output_tokens),
        concurrency=number(load, "concurrency"),
        request_rate=number(load, "request_rate", "rate"),
        requests=_whole(export, "request_count"),
        failed=_whole(export, "error_request_count"),
        duration=_seconds(export, "benchmark_duration", "avg"),
        ttft_median=_seconds(export, "time_to_first_token", "p50"),
        ttft_mean=_seconds(export, "time_to_first_token", "avg"),
        ttft_p99=_seconds(export, "time_to_first_token", "p99"),
        tpot_median=_seconds(export, "inter_token_latency", "p50"),
        tpot_mean=_seconds(export, "inter_token_latency", "avg"),
        tpot_p99=_seconds(export, "inter_token_latency", "p99"),
        e2e_median=_seconds(export, "request_latency", "p50"),
        output_tokens_per_second=_plain(export, "output_token_throughput"),
        requests_per_second=_plain(export, "request_throughput"),
        label=path.name,
    )
    version = export.get("aiperf_version")
    definition = (
        "(latency - first token) / (output tokens - tokens of the first chunk); AIPerf's name: inter_token_latency"
    )
    tags = [
        Metric(name="ttft", tool=_TOOL, tool_version=version, definition="time_to_first_token"),
        Metric(name="tpot", tool=_TOOL, tool_version=version, definition=definition),
    ]
    return [msgspec.structs.replace(base, served=[run], metrics=tags)]


def _model(config: Mapping[str, Any]) -> str | None:
    """The first of the models, wherever this version keeps them."""
    models = config.get("models") or {}
    items = models.get("items") if isinstance(models, dict) else None
    named = [one["name"] for one in items or [] if one.get("name")]
    return next(iter(named or (config.get("endpoint") or {}).get("model_names") or []), None)


def _load(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was sent while it measured: the profiling phase, nothing of several; in older versions the load generator's settings."""
    phases = [one for one in config.get("phases") or [] if one.get("kind", "profiling") == "profiling"]
    if len(phases) > 1:
        return {}
    return phases[0] if phases else config.get("loadgen") or {}


def _gpus(export: Mapping[str, Any]) -> list[str]:
    """Names of the GPUs whose telemetry was read."""
    endpoints = (export.get("telemetry_data") or {}).get("endpoints") or {}
    return [str(gpu["gpu_name"]) for one in endpoints.values() for gpu in (one.get("gpus") or {}).values()]


def _whole(export: Mapping[str, Any], name: str) -> int | None:
    found = _plain(export, name)
    return None if found is None else int(found)


def _plain(export: Mapping[str, Any], name: str) -> float | None:
    return number(export.get(name) or {}, "avg")


def _seconds(export: Mapping[str, Any], name: str, statistic: str) -> float | None:
    record = export.get(name) or {}
    value = number(record, statistic)
    if value is None:
        return None
    unit = record.get("unit")
    if unit not in _TO_SECONDS:
        raise CurveRefused(f"{name}.unit", unit, f"one of {', '.join(_TO_SECONDS)} is expected")
    return value * _TO_SECONDS[unit] or None
