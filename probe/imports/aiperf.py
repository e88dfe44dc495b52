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
from probe.imports.common import Given, mapping, number, part, read_json, required, setup, whole
from probe.imports.parts import held_to_parts

_TOOL = "aiperf"
_TO_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "ns": 1e-9}


def read(path: Path, given: Given) -> list[ResultFile]:
    """One run."""
    export = read_json(path)
    if export.get("was_cancelled") or export.get("is_complete") is False:
        raise CurveRefused(
            "is_complete", export.get("is_complete"), "this run was ended early: its figures are of a part"
        )
    config, gpus = part(export, "input_config"), _gpus(export)
    load = _load(config)
    base = setup(
        path.stem,
        given,
        path,
        model=_model(config),
        gpu=next((name for name in gpus if name), None),
        engine="openai-compatible server",
        gpus=len(gpus) or None,
        at=export.get("start_time"),
    )
    run = Served(
        input_tokens=required("input_tokens", _plain(export, "input_sequence_length", "tokens"), given.input_tokens),
        output_tokens=required(
            "output_tokens", _plain(export, "output_sequence_length", "tokens"), given.output_tokens
        ),
        concurrency=number(load, "concurrency"),
        request_rate=number(load, "request_rate", "rate"),
        requests=whole(part(export, "request_count"), "avg", "request_count"),
        failed=whole(part(export, "error_request_count"), "avg", "error_request_count"),
        duration=_seconds(export, "benchmark_duration", "avg"),
        ttft_median=_seconds(export, "time_to_first_token", "p50"),
        ttft_mean=_seconds(export, "time_to_first_token", "avg"),
        ttft_p99=_seconds(export, "time_to_first_token", "p99"),
        tpot_median=_seconds(export, "inter_token_latency", "p50"),
        tpot_mean=_seconds(export, "inter_token_latency", "avg"),
        tpot_p99=_seconds(export, "inter_token_latency", "p99"),
        e2e_median=_seconds(export, "request_latency", "p50"),
        output_tokens_per_second=_plain(export, "output_token_throughput", "tokens/sec"),
        requests_per_second=_plain(export, "request_throughput", "requests/sec"),
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
    return [msgspec.structs.replace(base, served=[held_to_parts(run, path.name)], metrics=tags)]


def _model(config: Mapping[str, Any]) -> str | None:
    """The first of the models, wherever this version keeps them."""
    models = config.get("models")
    items = models.get("items") if isinstance(models, dict) else None
    named = [one["name"] for one in _objects(items, "models.items") if one.get("name")]
    return next(iter(named or part(config, "endpoint").get("model_names") or []), None)


def _load(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was sent while it measured: the profiling phase, nothing of several; in older versions the load generator's settings."""
    phases = [one for one in _objects(config.get("phases"), "phases") if one.get("kind", "profiling") == "profiling"]
    if len(phases) > 1:
        return {}
    return phases[0] if phases else part(config, "loadgen")


def _objects(found: Any, field: str) -> list[Mapping[str, Any]]:
    """A list of objects; an empty one where there is none."""
    if not isinstance(found or [], list):
        raise CurveRefused(field, found, "a list of objects is expected")
    return [mapping(one, f"{field}[{index}]") for index, one in enumerate(found or [])]


def _gpus(export: Mapping[str, Any]) -> list[str | None]:
    """Names, as far as they are stated, of the GPUs whose telemetry was read. Two endpoints may read one GPU: it is one by its uuid, and
    without one each that an endpoint lists."""
    found: dict[tuple[str, ...], str | None] = {}
    endpoints = part(part(export, "telemetry_data"), "endpoints")
    for endpoint in endpoints:
        gpus = part(part(endpoints, endpoint), "gpus", endpoint)
        for key in gpus:
            gpu = part(gpus, key, endpoint)
            uuid, name = gpu.get("gpu_uuid"), gpu.get("gpu_name")
            found[(str(uuid),) if uuid else (endpoint, key)] = str(name) if name else None
    return list(found.values())


def _plain(export: Mapping[str, Any], name: str, unit: str) -> float | None:
    """The mean, in this unit. Raises CurveRefused naming any other."""
    record = part(export, name)
    found = number(record, "avg")
    if found is not None and record.get("unit") != unit:
        raise CurveRefused(f"{name}.unit", record.get("unit"), f"{unit} is expected")
    return found


def _seconds(export: Mapping[str, Any], name: str, statistic: str) -> float | None:
    record = part(export, name)
    value = number(record, statistic)
    if value is None:
        return None
    unit = record.get("unit")
    if unit not in _TO_SECONDS:
        raise CurveRefused(f"{name}.unit", unit, f"one of {', '.join(_TO_SECONDS)} is expected")
    return value * _TO_SECONDS[unit] or None
