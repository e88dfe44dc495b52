"""What do vllm-cost-meter's served runs say, and what did a token cost under their rule and under ours?

Their rule puts the whole hour on output tokens: price / (output tokens an hour), input is free. Ours splits the same hour: input
tokens bear their own prefill time, output tokens the rest; both times their counts are the bill again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from probe.curve.errors import CurveRefused
from probe.curve.schema import UNKNOWN, Metric, ResultFile, Served
from probe.curve.terms import Terms
from probe.imports.bench_serve import TPOT
from probe.imports.common import Given, figure, number, positive, read_rows, required, setup
from probe.imports.parts import held_to_parts

_SETUP = ("model", "hardware", "engine", "gpus", "precision")
_COLUMNS = (
    *("config", *_SETUP, "rps", "request_throughput", "tps_output"),
    *("ttft_mean_ms", "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "e2el_p50_ms"),
)


@dataclass(frozen=True)
class Restated:
    """Dollars per million tokens of one run at a price an hour of all its GPUs.

    Attributes:
        theirs: all on output.
        plain: over input and output alike.
        input, output: own prefill time on input, the rest on output.
    """

    theirs: float
    plain: float
    input: float
    output: float


def read(path: Path, given: Given) -> list[ResultFile]:
    """One result file a configuration. Lengths of prompts are not in the file: --input-tokens. Raises CurveRefused naming line, field
    and both values where rows of one configuration are of two setups."""
    lines: dict[str, dict[int, Mapping[str, str]]] = {}
    for line, row in enumerate(read_rows(path, *_COLUMNS), 2):
        lines.setdefault(row["config"], {})[line] = row
    for name, some in lines.items():
        _one_setup(name, some)
    return [_result(name, list(some.values()), path, given) for name, some in lines.items()]


def _one_setup(name: str, rows: Mapping[int, Mapping[str, str]]) -> None:
    first, *others = rows
    for field in _SETUP:
        for line in others:
            if rows[line][field] != rows[first][field]:
                said = f"line {first} of the same configuration, {name}, says {rows[first][field]!r}"
                raise CurveRefused(f"line {line} {field}", rows[line][field], said)


def their_cost(row: Mapping[str, str]) -> float:
    """Dollars per million output tokens under their rule; `gpu_cost_hr` is of all GPUs of the run."""
    return figure(row, "gpu_cost_hr") / (figure(row, "tps_output") * 3600 / 1e6)


def restate(run: Served, price_per_hour: float, terms: Terms) -> Restated:
    """Both rules for one run; `terms` say what a prompt's own prefill takes (a floor where they are composed)."""
    requests, output = run.requests_per_second, run.output_tokens_per_second
    if not requests or not output:
        raise CurveRefused("requests_per_second", requests, "a run with requests and output tokens a second is needed")
    inputs = requests * run.input_tokens
    own = requests * float(terms.prefill(np.asarray(run.input_tokens), np.zeros(())))
    if own > 1:
        raise CurveRefused(
            "terms", own, "prefill alone would take more than the time there was: not this setup's curve"
        )
    second = price_per_hour / 3600 * 1e6
    return Restated(second / output, second / (inputs + output), second * own / inputs, second * (1 - own) / output)


def _result(name: str, rows: list[Mapping[str, str]], path: Path, given: Given) -> ResultFile:
    first = rows[0]
    base = setup(
        f"served-{name}",
        given,
        path,
        model=first["model"],
        gpu=first["hardware"],
        engine=first["engine"],
        gpus=figure(first, "gpus"),
        at=UNKNOWN,
        dtype=first["precision"],
    )
    served = [_run(row, given) for row in sorted(rows, key=lambda row: figure(row, "rps"))]
    tags = [Metric(name="tpot", tool="vllm bench serve", definition=TPOT, aggregate="median", unit="ms")]
    return msgspec.structs.replace(base, served=served, metrics=tags)


def _run(row: Mapping[str, str], given: Given) -> Served:
    requests, output = positive(row, "request_throughput"), figure(row, "tps_output")
    run = Served(
        input_tokens=float(required("input_tokens", given.input_tokens)),
        output_tokens=output / requests,
        request_rate=figure(row, "rps"),
        ttft_mean=figure(row, "ttft_mean_ms") / 1e3,
        ttft_median=figure(row, "ttft_p50_ms") / 1e3,
        ttft_p99=figure(row, "ttft_p99_ms") / 1e3,
        tpot_median=figure(row, "tpot_p50_ms") / 1e3,
        e2e_median=figure(row, "e2el_p50_ms") / 1e3,
        output_tokens_per_second=output,
        requests_per_second=requests,
        utilisation=_share(row),
        power_w=number(row, "gpu_power_w"),
        label=f"{row['config']} {row['rps']}/s",
    )
    return held_to_parts(run, run.label)


def _share(row: Mapping[str, str]) -> float | None:
    percent = number(row, "gpu_util_pct")
    return None if percent is None else percent / 100
