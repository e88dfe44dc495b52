"""Which foreign formats are read, each by which function?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.schema import Point, ResultFile, Served, dump_result, load_result
from probe.imports import (
    aiperf,
    bench_serve,
    composed,
    fpm,
    guidellm,
    inferencex,
    llama_batched,
    served_runs,
    trtllm_tables,
)
from probe.imports.common import Given

Reader = Callable[[Path, Given], list[ResultFile]]

FORMATS: dict[str, Reader] = {
    "aiperf": aiperf.read,
    "forward-pass-metrics": fpm.read,
    "guidellm": guidellm.read,
    "inferencex": inferencex.read,
    "llama-batched-bench": llama_batched.read,
    "op-tables": composed.read,
    "served-runs": served_runs.read,
    "trtllm-tables": trtllm_tables.read,
    "vllm-bench-serve": bench_serve.read,
}


def read_foreign(name: str, path: Path, given: Given) -> list[ResultFile]:
    """One result file a setup. Raises CurveRefused naming the formats, or the field that can't be used."""
    if name not in FORMATS:
        raise CurveRefused("format", name, f"one of {', '.join(sorted(FORMATS))} is expected")
    try:
        found = FORMATS[name](path, given)
    except OSError as error:
        raise CurveRefused("file", str(path), error.strerror or str(error)) from None
    names = [result.result_id for result in found]
    for result in found:
        if names.count(result.result_id) > 1:
            raise CurveRefused("result_id", result.result_id, f"{path.name} holds several setups of this name")
        for index, run in enumerate(result.served):
            _not_negative(run, run.label or f"run {index}")
        for point in result.points:
            _not_negative(point, f"{point.kind} batch {point.batch}")
        load_result(dump_result(result))  # what is written must be read again: kinds and bounds of every field
    return found


def _not_negative(record: Served | Point, where: str) -> None:
    for name, value in msgspec.structs.asdict(record).items():
        if isinstance(value, int | float) and value < 0:
            raise CurveRefused(f"{where} {name}", value, "a number from 0 is expected")
