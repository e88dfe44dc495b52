"""What do all imports share: reading JSON, numbers that may be absent, units by the key's own suffix, names of setups?"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from probe.curve.errors import CurveRefused
from probe.curve.peaks import nominal_bandwidth, nominal_flops
from probe.curve.schema import UNKNOWN, DeviceInfo, EngineInfo, ModelInfo, ResultFile, Run
from probe.curve.setup_shape import shape_in_file
from probe.engine.models.presets import PRESETS, preset

_PLAIN = ("float16", "fp16", "half", "bfloat16", "bf16", "float32", "fp32", "float", "none")
_KINDS = r"(?:nv|mx)?fp[48]|int[48]|awq|gptq|w\d+a\d+|i?q[1-8](?:_[a-z0-9]+)+|[2-8]-?bit|exl[23]|hqq|bnb"
_QUANTISED = re.compile(rf"(?:^|[-_/.])({_KINDS})(?=$|[-_/.])", re.IGNORECASE)
_CACHED = re.compile(r"models--(.+?)--(.+?)/snapshots/")


_MOST = 1e30  # above any count of nanoseconds, bytes or operations


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


def read_json(path: Path) -> dict[str, Any]:
    """The object that the file holds. Raises CurveRefused naming the file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CurveRefused("file", str(path), f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise CurveRefused("file", str(path), "one JSON object is expected")
    return found


def read_rows(path: Path, *columns: str) -> list[dict[str, str]]:
    """Rows of a CSV that has these columns. Raises CurveRefused naming those that it lacks, or the file where it has no row."""
    reader = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    missing = [name for name in columns if name not in (reader.fieldnames or [])]
    if missing:
        raise CurveRefused("columns", missing, f"{path.name} lacks them")
    rows = list(reader)
    if not rows:
        raise CurveRefused("file", str(path), "no row is here")
    return rows


def figure(record: Mapping[str, Any], name: str) -> float:
    """A number that must be there. Raises CurveRefused naming it."""
    found = number(record, name)
    if found is None:
        raise CurveRefused(name, record.get(name), "a number is expected")
    return found


def positive(record: Mapping[str, Any], name: str) -> float:
    """A number above 0 that must be there. Raises CurveRefused naming it."""
    found = figure(record, name)
    if found <= 0:
        raise CurveRefused(name, record.get(name), "a number above 0 is expected")
    return found


def number(record: Mapping[str, Any], *names: str) -> float | None:
    """The first of these fields that holds a finite number; None where none does (an endless rate is none)."""
    for name in names:
        value = record.get(name)
        if value is None or value == "" or isinstance(value, bool):
            continue
        try:
            found = float(value)
        except (TypeError, ValueError):
            raise CurveRefused(name, value, "a number is expected") from None
        if math.isnan(found) or (math.isfinite(found) and abs(found) > _MOST):
            raise CurveRefused(name, value, "a number is expected")
        if math.isfinite(found):
            return found
    return None


def whole(record: Mapping[str, Any], name: str, where: str = "") -> int | None:
    """`number`, of things that are counted. Raises CurveRefused naming it, after `where`, with a part of one."""
    found = number(record, name)
    if found is None:
        return None
    if not found.is_integer():
        raise CurveRefused(f"{where} {name}".strip(), record.get(name), "a whole number is expected")
    return int(found)


def counted(record: Mapping[str, Any], name: str) -> int:
    """`whole`, of what must be there. Raises CurveRefused naming it."""
    found = whole(record, name)
    if found is None:
        raise CurveRefused(name, record.get(name), "a number is expected")
    return found


def part(record: Mapping[str, Any], name: str, where: str = "") -> Mapping[str, Any]:
    """The object under a name; an empty one where there is none. Raises CurveRefused naming what stands there instead, after `where`."""
    found = record.get(name)
    if found is None:
        return {}
    return mapping(found, f"{where} {name}".strip())


def mapping(found: Any, field: str) -> Mapping[str, Any]:
    """An object of JSON. Raises CurveRefused naming the field that holds something else."""
    if not isinstance(found, dict):
        raise CurveRefused(field, found, "an object is expected")
    return found


def seconds(record: Mapping[str, Any], name: str) -> float | None:
    """Seconds of `name`: of `name_ms` in milliseconds or of `name` (or `name_s`) in seconds, as the key itself says. Zero is absent."""
    milliseconds, whole = number(record, f"{name}_ms"), number(record, name, f"{name}_s")
    if milliseconds is not None and whole is not None and not math.isclose(milliseconds / 1e3, whole, rel_tol=1e-6):
        raise CurveRefused(name, (milliseconds, whole), "milliseconds and seconds of the same figure disagree")
    found = whole if milliseconds is None else milliseconds / 1e3
    return found or None


def required(field: str, *values: Any) -> Any:
    """The first that is known; raises CurveRefused asking for it."""
    for value in values:
        if value not in (None, ""):
            return value
    raise CurveRefused(field, None, f"the file does not state it: give --{field.replace('_', '-')}")


def setup(
    result_id: str,
    given: Given,
    source: Path,
    *,
    model: Any,
    gpu: Any,
    engine: Any,
    gpus: Any = None,
    at: Any = None,
    dtype: str | None = None,
) -> ResultFile:
    """A result file without measurements; what the user gave stands above what the file said. How many GPUs there are is asked for:
    dollars go by it. The shape is that of a preset of the model's name, the peaks are those of the GPU's."""
    name, stated = str(required("model", given.model, model)), given.dtype or dtype
    device, quantised = str(required("gpu", given.gpu, gpu)), quantisation(stated, name)
    return ResultFile(
        version=1,
        result_id=result_id,
        run=Run(measured_at=dated(required("measured_at", given.measured_at, at)), via="import", source=source.name),
        model=_described(ModelInfo(name=name, dtype=stated, quantization=quantised)),
        engine=EngineInfo(name=str(required("engine", given.engine, engine))),
        device=DeviceInfo(
            gpu=device,
            count=counted({"gpus": required("gpus", given.gpus, gpus)}, "gpus"),
            peak_bytes_per_second=nominal_bandwidth(device),
            peak_flops=nominal_flops(device, quantised or stated),
        ),
    )


def _described(model: ModelInfo) -> ModelInfo:
    """With the shape of the preset that the last part of its name is; without one as it was."""
    name = model.name.rsplit("/", 1)[-1]
    if name not in PRESETS:
        return model
    shape = shape_in_file(preset(name))
    return msgspec.structs.replace(
        model, architecture=shape.fields, attention=shape.attention, sliding_window=shape.sliding_window
    )


def quantisation(dtype: str | None, model: str) -> str | None:
    """What the weights were made smaller by: the dtype where it is known and no plain one, else what the model's own name says. `auto` is
    no dtype: it means the model's own."""
    if dtype and dtype.lower() != "auto":
        return None if dtype.lower() in _PLAIN else dtype.lower()
    said = _QUANTISED.search(model)
    return said[1].lower() if said else None


def model_name(stated: Any) -> str:
    """The model's name; of a folder of the Hugging Face cache that of its repository."""
    name = str(stated or "").rstrip("/")
    cached = _CACHED.search(f"{name}/")
    return f"{cached[1]}/{cached[2]}" if cached else name


def dated(at: Any) -> str:
    """ISO 8601: seconds since 1970 and times with a zone as UTC, vLLM's 20261001-120000 and others without a zone as they are.
    "unknown" stays. Raises CurveRefused for what is no time."""
    text = str(at)
    if text == UNKNOWN:
        return text
    try:
        if isinstance(at, int | float):
            return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        if re.fullmatch(r"\d{8}-\d{6}", text):
            return datetime.strptime(text, "%Y%m%d-%H%M%S").isoformat()
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.fromisoformat(text).date().isoformat()
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise CurveRefused("measured_at", text, "a date or time in ISO 8601 is expected") from None
    return (found if found.tzinfo is None else found.astimezone(UTC)).isoformat(timespec="seconds")
