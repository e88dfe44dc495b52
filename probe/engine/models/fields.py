"""How are the fields of a config.json read? Each by its kind; one that is missing, or of another kind, is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from probe.engine.errors import UnsupportedConfig

Raw = Mapping[str, Any]


def whole(raw: Raw, field: str, default: int | None = None, least: int = 1, name: str | None = None) -> int:
    """A whole number; null is as if it were missing. `name`: of the field in a refusal, where it lies deeper."""
    value = raw.get(field)
    if value is None:
        value = default
    if value is None:
        raise UnsupportedConfig(name or field, None, "is missing")
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UnsupportedConfig(name or field, value, f"not a whole number of at least {least}")
    return value


def even(raw: Raw, field: str, default: int | None = None) -> int:
    """A whole number whose half is one: rotary positions turn pairs."""
    value = whole(raw, field, default)
    if value % 2:
        raise UnsupportedConfig(field, value, "not an even number")
    return value


def number(raw: Raw, field: str, default: float | None = None, name: str | None = None) -> float:
    """A finite number above 0; null is as if it were missing."""
    value = raw.get(field)
    if value is None:
        value = default
    if value is None:
        raise UnsupportedConfig(name or field, None, "is missing")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise UnsupportedConfig(name or field, value, "not a number above 0")
    return float(value)


def flag(raw: Raw, field: str, default: bool, name: str | None = None) -> bool:
    """true or false; null is as if it were missing."""
    value = raw.get(field)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise UnsupportedConfig(name or field, value, "neither true nor false")
    return value


def wholes(raw: Raw, field: str) -> tuple[int, ...]:
    """One whole number from 0, a list of them, or none."""
    value = raw.get(field)
    given = () if value is None else value if isinstance(value, list) else (value,)
    if any(isinstance(one, bool) or not isinstance(one, int) or one < 0 for one in given):
        raise UnsupportedConfig(field, value, "not whole numbers from 0")
    return tuple(given)


def texts(raw: Raw, field: str) -> Sequence[str] | None:
    """A list of texts; None where it is missing or null."""
    value = raw.get(field)
    if value is not None and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
        raise UnsupportedConfig(field, value, "not a list of texts")
    return value


def part(raw: Raw, field: str) -> Raw:
    """An object inside the file; empty where it is missing or null."""
    value = raw.get(field)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UnsupportedConfig(field, value, "not an object")
    return value
