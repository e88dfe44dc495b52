"""What does a result of vLLM's serving benchmark say? (`vllm bench serve --save-result`, and InferenceX's copies of it)

Its TPOT is (end to end - first token) / (output - 1); its ITL is by chunk, so several tokens may stand in one. Keys that end in _ms are
milliseconds, the same keys without are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import Metric, ResultFile, Served
from probe.imports.common import Given, model_name, number, read_json, seconds, setup, whole
from probe.imports.parts import held_to_parts

TPOT = "(end to end - first token) / (output tokens - 1): the first token is not in it"
ITL = "between stream chunks: several tokens may share one"


def run_of(record: Mapping[str, Any], where: str) -> Served:
    """One run. Raises CurveRefused where lengths are missing or units contradict each other."""
    completed = whole(record, "completed") or whole(record, "successful_requests")
    total_in, total_out = number(record, "total_input_tokens"), number(record, "total_output_tokens")
    if not completed or total_in is None or not total_out:
        raise CurveRefused(
            "completed", record.get("completed"), f"{where}: a run with completed requests and token totals"
        )
    rate = number(record, "request_rate")
    run = Served(
        input_tokens=total_in / completed,
        output_tokens=total_out / completed,
        concurrency=number(record, "max_concurrency"),
        request_rate=rate,
        requests=completed,
        failed=whole(record, "failed"),
        duration=number(record, "duration"),
        output_tokens_per_second=number(record, "output_throughput"),
        total_tokens_per_second=number(record, "total_token_throughput"),
        requests_per_second=number(record, "request_throughput"),
        e2e_median=seconds(record, "median_e2el"),
        label=where,
        **latencies(record),
    )
    return held_to_parts(run, where, closed=True)


def latencies(record: Mapping[str, Any]) -> dict[str, Any]:
    """TTFT, TPOT and ITL in seconds by the record's names."""
    return {
        f"{name}_{aggregate}": seconds(record, f"{aggregate}_{name}")
        for name in ("ttft", "tpot", "itl")
        for aggregate in ("median", "mean", "p99")
    }


def metrics(tool: str, version: str | None = None) -> list[Metric]:
    """What its figures mean."""
    return [
        Metric(name="ttft", tool=tool, tool_version=version, definition="from sending, client queueing left out"),
        Metric(name="tpot", tool=tool, tool_version=version, definition=TPOT),
        Metric(name="itl", tool=tool, tool_version=version, definition=ITL),
    ]


def read(path: Path, given: Given) -> list[ResultFile]:
    """One file, or a folder of runs of one setup."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    records = [(one, read_json(one)) for one in files]
    if not records:
        raise CurveRefused("file", str(path), "no JSON file is here")
    models = {model_name(record.get("model_id")) for _, record in records}
    engines = {str(record["backend"]) for _, record in records if record.get("backend")}
    for name, found, said in (("model_id", models, None), ("backend", engines, given.engine)):
        if len(found) > 1 and said is None:
            raise CurveRefused(name, sorted(found), "one setup at a time is imported")
    at = max((str(record["date"]) for _, record in records if record.get("date")), default=None)
    base = setup(path.stem, given, path, model=models.pop(), gpu=None, engine=next(iter(engines), None), at=at)
    served = [run_of(record, one.name) for one, record in records]
    return [msgspec.structs.replace(base, served=served, metrics=metrics("vllm bench serve"))]
