"""Which fields has a curve file, of which kinds? What accounting refuses is refused here, before it is shown or sent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from probe.curve.errors import CurveRefused, value_at

_Number = Annotated[str, msgspec.Meta(pattern=r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$")] | float
_Above = Annotated[float, msgspec.Meta(gt=0)]
_Amount = Annotated[float, msgspec.Meta(ge=0)]
_Bounds = tuple[_Above, _Above]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_One = Annotated[int, msgspec.Meta(ge=1)]


class _Part(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class _Grid(_Part):
    batch: list[_Above]
    context: list[_Above]
    values: list[list[_Number]]
    measured: list[list[bool]] | None = None


class _Domain(_Part):
    batch: _Bounds
    context: _Bounds
    prefill_new: tuple[_Amount, _Amount] | None = None
    prefill_cached: tuple[_Amount, _Amount] | None = None


class _Layers(_Part):
    layers: _One
    bytes_per_token: _One
    window: _One | None = None


class _Memory(_Part):
    kv_bytes: _Count
    block_size: _One
    groups: Annotated[list[_Layers], msgspec.Meta(min_length=1)]
    replication: _One = 1


class _Parameters(_Part):
    t_0: _Number
    a: _Number
    c: _Number
    d: _Number
    f: _Number
    r: _Number
    e: _Number = 0.0
    experts: _Count = 0
    experts_per_token: _Count = 0


class _CurveFile(_Part):
    version: int
    curve_id: Annotated[str, msgspec.Meta(min_length=1)]
    form: Literal["step", "table"]
    model: str
    engine: str
    gpu: str
    dtype: str
    measured_at: str
    domain: _Domain
    floor: bool = False
    behaviour_changing: bool = False
    kl_divergence: float | None = None
    errors: dict[str, float] = {}
    parameters: _Parameters | None = None
    residual: _Grid | None = None
    steps: _Grid | None = None
    first_token: _Grid | None = None
    memory: _Memory | None = None
    source: dict[str, Any] = {}


def check_fields(file: dict[str, Any]) -> None:
    """Raises CurveRefused naming the field that is missing, unknown or of another kind, with its value."""
    try:
        msgspec.convert(file, _CurveFile)
    except msgspec.ValidationError as error:
        why, _, at = str(error).partition(" - at `$")
        raise CurveRefused(f"curve{at.rstrip('`')}", value_at(file, at), why) from None
