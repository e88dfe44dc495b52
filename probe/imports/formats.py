"""Which foreign formats are read, each by which function?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from probe.curve.errors import CurveRefused
from probe.curve.schema import ResultFile
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
    return FORMATS[name](path, given)
