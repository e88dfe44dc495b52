"""How is one count read from a wire body, and how are counts held against each other? By type, sign and equation, never by guess."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from accounting.usage.formats.evidence import allow, shown
from accounting.usage.wire import UsageContradiction

__all__ = ["LIMIT", "absent", "allow", "check_parts", "check_sum", "count", "optional_count", "value_at"]

LIMIT = 2_147_483_647
"""Largest count that an event can hold."""


def value_at(body: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None where any step is absent or null. A key that itself contains the dots is found first."""
    if path in body:
        return body[path]
    if "." not in path:
        return None
    value: Any = body
    for step in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def absent(body: Mapping[str, Any], path: str) -> bool:
    """Does the body not state this at all, or as null?"""
    return value_at(body, path) is None


def optional_count(
    body: Mapping[str, Any], path: str, evidence: Mapping[str, Any] | None = None, *, text: bool = False
) -> int | None:
    """The count at a dotted path; None where it is absent or null.

    Args:
        evidence: usage body that a contradiction carries; None: the allow-listed `body`.
        text: the format writes 64-bit integers as decimal strings, so these are counts too.

    Raises UsageContradiction: `not_a_count` (a boolean, a fraction, NaN, text, an object), `negative_count`,
    `count_out_of_range` (above 2,147,483,647). A whole number written as 59200.0 is a count.
    """
    value = value_at(body, path)
    if value is None or (type(value) is int and 0 <= value <= LIMIT):
        return value
    number = _whole(value, text)
    if number is None:
        raise UsageContradiction(
            "not_a_count", f"{path} is {shown(value)}", allow(body) if evidence is None else evidence
        )
    if 0 <= number <= LIMIT:
        return number
    reason = "negative_count" if number < 0 else "count_out_of_range"
    relation = "< 0" if number < 0 else f"> {LIMIT}"
    raise UsageContradiction(
        reason, f"{path} {shown(number)} {relation}", allow(body) if evidence is None else evidence
    )


def count(body: Mapping[str, Any], path: str, evidence: Mapping[str, Any] | None = None, *, text: bool = False) -> int:
    """The count at a dotted path, as `optional_count` reads it; where it is absent or null: UsageContradiction `count_missing`."""
    number = optional_count(body, path, evidence, text=text)
    if number is None:
        raise UsageContradiction("count_missing", f"{path} is absent", allow(body) if evidence is None else evidence)
    return number


def _whole(value: Any, text: bool) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value.adjusted() < 40 and value == int(value) else None
    if text and isinstance(value, str) and len(value) <= 20 and value.isascii() and value.removeprefix("-").isdigit():
        return int(value)
    return None


def check_sum(
    total: tuple[str, int | None],
    parts: Mapping[str, int],
    evidence: Mapping[str, Any],
    reason: str = "tokens_do_not_add_up",
) -> None:
    """Raises UsageContradiction unless total = sum of parts; a total of None is not stated and nothing is checked."""
    name, stated = total
    if stated is not None and stated != sum(parts.values()):
        raise UsageContradiction(reason, f"{name} {stated} <> {_sum_text(parts)}", evidence)


def check_parts(
    whole: tuple[str, int], parts: Mapping[str, int], evidence: Mapping[str, Any], reason: str = "part_exceeds_whole"
) -> None:
    """Raises UsageContradiction where disjoint parts sum to more than their whole."""
    name, stated = whole
    if sum(parts.values()) > stated:
        raise UsageContradiction(reason, f"{_sum_text(parts)} > {name} {stated}", evidence)


def _sum_text(parts: Mapping[str, int]) -> str:
    terms = " + ".join(f"{name} {number}" for name, number in parts.items())
    return terms if len(parts) == 1 else f"{terms} = {sum(parts.values())}"
