"""What of a wire body may be kept as evidence? Numbers, and short enum-like words under named keys; never text of a person."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

DEPTH = 8
ITEMS = 1_000
SMALL = 2**63

_KEY = re.compile(r"[A-Za-z0-9_.$\-]{1,64}")
_WORD = re.compile(r"[A-Za-z0-9_.:/@+\-]{0,128}")
_NOTHING: Any = object()


def allow(body: Mapping[str, Any], words: Collection[str] = ()) -> dict[str, Any]:
    """The allow-listed copy of a body.

    Kept at any depth up to 8: numbers, booleans and nulls under keys that look like names; strings without spaces of at most
    128 characters under the keys in `words`; of a list its first 1,000 items. Of any other string under a key stays the empty
    one, so that text in the place of a count is no absent count when the evidence is read again. All else is dropped. What JSON
    or a database can't hold as a number (NaN, an infinity, more than 64 bits) is kept as text, cut to 40 characters.
    """
    kept = _kept(body, words, False, DEPTH)
    return kept if isinstance(kept, dict) else {}


def is_word(text: str) -> bool:
    """Whether a text under a key in `words` is kept as it is."""
    return _WORD.fullmatch(text) is not None


def _kept(value: Any, words: Collection[str], word: bool, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, str) and word and _WORD.fullmatch(value):
        return value
    if isinstance(value, Mapping | list | tuple) and depth > 0:
        return _kept_inside(value, words, depth - 1)
    return _NOTHING


def _kept_inside(value: Mapping[str, Any] | list[Any] | tuple[Any, ...], words: Collection[str], depth: int) -> Any:
    if not isinstance(value, Mapping):
        items = [_kept(inner, words, False, depth) for inner in value[:ITEMS]]
        return [inner for inner in items if inner is not _NOTHING]
    found = {}
    for key, inner in value.items():
        if isinstance(key, str) and (key in words or _is_name(key)):
            kept = inner if type(inner) is int and -SMALL < inner < SMALL else _kept(inner, words, key in words, depth)
            if kept is not _NOTHING:
                found[key] = kept
            elif isinstance(inner, str):
                found[key] = ""
    return found


@lru_cache(maxsize=4096)
def _is_name(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


def _number(value: int | float | Decimal) -> Any:
    if isinstance(value, int):
        return value if -SMALL < value < SMALL else shown(value)
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() and math.isfinite(float(value)) else shown(value)
    return value if math.isfinite(value) else shown(value)


def shown(value: object) -> str:
    """A value as an equation may quote it: numbers as they are, of anything else the kind only, since it may be a person's text."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float | Decimal):
        return str(value)[:40]
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    return {"dict": "an object", "list": "an array"}.get(type(value).__name__, type(value).__name__)
