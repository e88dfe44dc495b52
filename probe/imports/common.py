"""What do all imports share: reading JSON, numbers that may be absent, units by the key's own suffix?"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.curve.errors import CurveRefused
from probe.curve.schema import DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run, Served


@dataclass(frozen=True)
class Given:
    """What the user states because the file doesn't. Attributes: input_tokens, output_tokens: of a request, on average."""

    model: str | None = None
    gpu: str | None = None
    engine: str | None = None
    gpus: int | None = None
    dtype: str | None = None
    measured_at: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None


def read_json(path: Path) -> Any:
    """The document. Raises CurveRefused naming the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CurveRefused("file", str(path), f"not JSON: {error}") from None


def number(record: Mapping[str, Any], *names: str) -> float | None:
    """The first of these fields that holds a finite number; None where none does."""
    for name in names:
        value = record.get(name)
        if value is None or value == "" or isinstance(value, bool):
            continue
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise CurveRefused(name, value, "a number is expected") from None
        if math.isfinite(found):
            return found
    return None


def seconds(record: Mapping[str, Any], name: str) -> float | None:
    """Seconds of `name`: of `name_ms` in milliseconds or of `name` (or `name_s`) in seconds, as the key itself says. Zero is absent."""
    milliseconds, whole = number(record, f"{name}_ms"), number(record, name, f"{name}_s")
    if milliseconds is not None and whole is not None and not math.isclose(milliseconds / 1e3, whole, rel_tol=1e-6):
        raise CurveRefused(name, (milliseconds, whole), "milliseconds and seconds of the same figure disagree")
    found = whole if milliseconds is None else milliseconds / 1e3
    return found or None


def check_units(run: Served, where: str) -> Served:
    """Refuses a run whose end-to-end time is not about TTFT + TPOT * (output - 1): one of them is in another unit."""
    pace = run.tpot_median or run.tpot_mean
    if run.e2e_median and run.ttft_median and pace and run.output_tokens > 1:
        expected = run.ttft_median + pace * (run.output_tokens - 1)
        if not 0.1 < run.e2e_median / expected < 10:
            raise CurveRefused("units", where, f"end to end {run.e2e_median:g} s, but its parts make {expected:g} s")
    return run


def required(field: str, *values: Any) -> Any:
    """The first that is known; raises CurveRefused asking for it."""
    for value in values:
        if value not in (None, ""):
            return value
    raise CurveRefused(field, None, f"the file does not state it: give --{field.replace('_', '-')}")


def setup(
    result_id: str, given: Given, source: Path, *, model: Any, gpu: Any, engine: Any, gpus: Any = 1, at: Any = None
) -> ResultFile:
    """A result file without measurements; what the user gave stands above what the file said."""
    return ResultFile(
        version=1,
        result_id=result_id,
        run=Run(measured_at=str(required("measured_at", given.measured_at, at)), via="import", source=source.name),
        model=ModelInfo(name=str(required("model", given.model, model)), dtype=given.dtype),
        engine=EngineInfo(name=str(required("engine", given.engine, engine))),
        device=DeviceInfo(gpu=str(required("gpu", given.gpu, gpu)), count=int(given.gpus or gpus or 1)),
    )
