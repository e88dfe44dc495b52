"""What does a GuideLLM report say?

Its time_per_output_token has the first token in it: (last - start) / n, the opposite of vLLM's TPOT; its inter_token_latency has not:
(last - first) / (n - 1). So the second is what others call TPOT, and the first is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import Metric, ResultFile, Served
from probe.imports.common import Given, mapping, number, part, read_json, setup
from probe.imports.parts import held_to_parts

_TOOL = "guidellm"
_NOTE = "(last token - first token) / (n - 1); GuideLLM's own name: inter_token_latency. Its time_per_output_token is not used"


def read(path: Path, given: Given) -> list[ResultFile]:
    """Each benchmark of the report is a run."""
    report = read_json(path)
    benchmarks = report.get("benchmarks")
    if not isinstance(benchmarks, list) or not benchmarks:
        raise CurveRefused("benchmarks", benchmarks, "a GuideLLM report holds a list of them")
    runs = [mapping(one, f"benchmarks[{index}]") for index, one in enumerate(benchmarks)]
    version = part(report, "metadata").get("guidellm_version")
    at = report.get("created_at") or runs[0].get("start_time")
    base = setup(path.stem, given, path, model=_model(report), gpu=None, engine="openai-compatible server", at=at)
    served = [_run(one, index) for index, one in enumerate(runs)]
    tags = [
        Metric(name="ttft", tool=_TOOL, tool_version=version, definition="time_to_first_token", unit="ms"),
        Metric(name="tpot", tool=_TOOL, tool_version=version, definition=_NOTE, unit="ms"),
    ]
    return [msgspec.structs.replace(base, served=served, metrics=tags)]


def _model(report: Mapping[str, Any]) -> Any:
    """Of the arguments, or (since 0.8) of the scenario's backend."""
    config = part(report, "config")
    holders = [report.get("args"), config, config.get("backend"), part(config, "spec").get("backend")]
    return next((holder["model"] for holder in holders if isinstance(holder, dict) and holder.get("model")), None)


def _run(record: Mapping[str, Any], index: int) -> Served:
    found = part(record, "metrics", f"benchmarks[{index}]")
    inputs, outputs = _of(found, "prompt_token_count", "mean"), _of(found, "output_token_count", "mean")
    if inputs is None or outputs is None:
        raise CurveRefused(f"benchmarks[{index}].metrics.output_token_count", None, "token counts are required")
    strategy = part(part(record, "config"), "strategy")
    run = Served(
        input_tokens=inputs,
        output_tokens=outputs,
        request_rate=number(strategy, "rate"),
        concurrency=_of(found, "request_concurrency", "mean"),
        ttft_median=_ms(found, "time_to_first_token_ms", "median"),
        ttft_mean=_ms(found, "time_to_first_token_ms", "mean"),
        tpot_median=_ms(found, "inter_token_latency_ms", "median"),
        tpot_mean=_ms(found, "inter_token_latency_ms", "mean"),
        e2e_median=_of(found, "request_latency", "median"),
        output_tokens_per_second=_of(found, "output_tokens_per_second", "mean"),
        total_tokens_per_second=_of(found, "tokens_per_second", "mean"),
        requests_per_second=_of(found, "requests_per_second", "mean"),
        label=f"benchmark {index}",
    )
    return held_to_parts(run, f"benchmarks[{index}]")


def _of(found: Mapping[str, Any], name: str, statistic: str) -> float | None:
    """Of successful requests; GuideLLM keeps them apart from errored and incomplete ones."""
    return number(part(part(found, name), "successful", name), statistic)


def _ms(found: Mapping[str, Any], name: str, statistic: str) -> float | None:
    value = _of(found, name, statistic)
    return None if not value else value / 1e3
