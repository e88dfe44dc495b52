"""How does a curve stand in a file? Versioned JSON that the probe writes and the API takes; the same numbers come back.

Numbers of the fit are decimal texts or JSON numbers (their shortest form that reads back the same). A field that is missing, unknown or
of the wrong kind is refused by name. README.md, "The file", lists the fields.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from accounting.errors import InvalidInput
from accounting.selfhosted.curve import Curve, Domain, Header, StepCurve, TableCurve
from accounting.selfhosted.grid import Grid
from accounting.selfhosted.memory import LayerGroup, Memory

VERSION = 1

Number = Annotated[str, msgspec.Meta(pattern=r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$")] | float
Bounds = tuple[float, float]


class _Struct(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class GridFile(_Struct):
    """values[b][s] over batch[b] and context[s]; measured[b][s]: which of them were, all where it is missing."""

    batch: list[float]
    context: list[float]
    values: list[list[Number]]
    measured: list[list[bool]] | None = None


class DomainFile(_Struct):
    """Bounds of what was measured."""

    batch: Bounds
    context: Bounds
    prefill_new: Bounds | None = None
    prefill_cached: Bounds | None = None


class LayersFile(_Struct):
    """Layers that cache alike."""

    layers: int
    bytes_per_token: int
    window: int | None = None


class MemoryFile(_Struct):
    """The KV cache of one replica."""

    kv_bytes: int
    block_size: int
    groups: list[LayersFile]
    replication: int = 1


class ParametersFile(_Struct):
    """Seconds, as in `StepCurve`; experts only for mixtures of experts."""

    t_0: Number
    a: Number
    c: Number
    d: Number
    f: Number
    r: Number
    e: Number = 0.0
    experts: int = 0
    experts_per_token: int = 0


class CurveFile(_Struct):
    """A curve as a file: `step` curves carry parameters, `table` curves carry steps."""

    version: int
    curve_id: Annotated[str, msgspec.Meta(min_length=1)]
    form: Literal["step", "table"]
    model: str
    engine: str
    gpu: str
    dtype: str
    measured_at: str
    domain: DomainFile
    floor: bool = False
    behaviour_changing: bool = False
    kl_divergence: float | None = None
    errors: dict[str, float] = {}
    parameters: ParametersFile | None = None
    residual: GridFile | None = None
    steps: GridFile | None = None
    first_token: GridFile | None = None
    memory: MemoryFile | None = None
    source: dict[str, Any] = {}


def load_curve(text: str | bytes) -> Curve:
    """The curve of a file. Raises InvalidInput naming the field."""
    try:
        file = msgspec.json.decode(text, type=CurveFile)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidInput("curve", text[:80], str(error)) from None
    if file.version != VERSION:
        raise InvalidInput("curve.version", file.version, f"this reads version {VERSION}")
    _dated(file.measured_at)
    domain = Domain(**{one.name: getattr(file.domain, one.name) for one in fields(Domain)})
    header = Header(**{one.name: getattr(file, one.name) for one in fields(Header)})
    memory = None if file.memory is None else _memory(file.memory)
    if file.form == "table":
        _refuse(file, "parameters", "residual")
        if file.steps is None:
            raise InvalidInput("curve.steps", None, "a curve of form=table states its served steps")
        return TableCurve(
            header, domain, _grid(file.steps), None if file.first_token is None else _grid(file.first_token), memory
        )
    _refuse(file, "steps", "first_token")
    if file.parameters is None:
        raise InvalidInput("curve.parameters", None, "a curve of form=step states its parameters")
    fitted, whole = ("t_0", "a", "c", "d", "f", "r", "e"), ("experts", "experts_per_token")
    given: dict[str, Any] = {name: float(getattr(file.parameters, name)) for name in fitted}
    given |= {name: getattr(file.parameters, name) for name in whole}
    residual = None if file.residual is None else _grid(file.residual)
    return StepCurve(header, domain, **given, residual=residual, memory=memory)


def dump_curve(curve: Curve) -> str:
    """The file of a curve; `load_curve` gives the same curve back."""
    header, domain = curve.header, curve.domain
    file: dict[str, Any] = {"version": VERSION, "form": curve.form}
    file |= vars(header)
    file["domain"] = vars(domain)
    if isinstance(curve, TableCurve):
        file |= {
            "steps": _grid_file(curve.steps),
            "first_token": None if curve.first_token is None else _grid_file(curve.first_token),
        }
    else:
        names = ("t_0", "a", "c", "d", "f", "r", "e", "experts", "experts_per_token")
        file["parameters"] = {name: getattr(curve, name) for name in names}
        file["residual"] = None if curve.residual is None else _grid_file(curve.residual)
    if curve.memory is not None:
        file["memory"] = msgspec.to_builtins(curve.memory)
    return msgspec.json.encode(file).decode()


def _dated(measured_at: str) -> None:
    """A date or time; "unknown" where the source has none, as kernel tables do."""
    try:
        if measured_at != "unknown":
            datetime.fromisoformat(measured_at)
    except ValueError:
        raise InvalidInput("curve.measured_at", measured_at, "ISO 8601, or unknown, is expected") from None


def _grid(file: GridFile) -> Grid:
    for name, rows in (("values", file.values), ("measured", file.measured or [])):
        if len({len(row) for row in rows}) > 1:
            raise InvalidInput(f"grid.{name}", [len(row) for row in rows], "rows of one length are expected")
    values = np.array([[float(value) for value in row] for row in file.values], np.float64)
    known = None if file.measured is None else np.array(file.measured, np.bool_)
    return Grid(np.array(file.batch, np.float64), np.array(file.context, np.float64), values, known)


def _grid_file(grid: Grid) -> dict[str, Any]:
    plain = {"batch": grid.batch.tolist(), "context": grid.context.tolist(), "values": grid.values.tolist()}
    return plain if grid.measured is None else plain | {"measured": grid.measured.tolist()}


def _memory(file: MemoryFile) -> Memory:
    groups = tuple(LayerGroup(one.layers, one.bytes_per_token, one.window) for one in file.groups)
    return Memory(file.kv_bytes, file.block_size, file.replication, groups)


def _refuse(file: CurveFile, *names: str) -> None:
    for name in names:
        if getattr(file, name) is not None:
            raise InvalidInput(f"curve.{name}", "present", f"a curve of form={file.form} has none")
