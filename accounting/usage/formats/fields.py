"""How are names, moments, amounts and streamed values read from a wire body? Absent stays absent, a wrong type is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any

from accounting.usage.formats.counts import value_at
from accounting.usage.formats.evidence import shown
from accounting.usage.wire import UsageContradiction

_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
_REPORTED = Context(prec=38, rounding=ROUND_HALF_EVEN)


def text(body: Mapping[str, Any], path: str, evidence: Mapping[str, Any] | None = None) -> str | None:
    """The name at a dotted path; None where it is absent, null or empty.

    Raises UsageContradiction `not_a_name` for another type, more than 256 characters or a control character.
    """
    value = value_at(body, path)
    if value is None or value == "":
        return None
    if isinstance(value, str) and len(value) <= 256 and value.isprintable():
        return value
    raise UsageContradiction("not_a_name", f"{path} is {shown(value)}", evidence or {})


def first_text(body: Mapping[str, Any], *paths: str, evidence: Mapping[str, Any] | None = None) -> str | None:
    """The first name that is stated."""
    return next((found for found in (text(body, path, evidence) for path in paths) if found is not None), None)


def seconds(body: Mapping[str, Any], path: str) -> datetime | None:
    """The moment at a dotted path, in seconds since the epoch, as UTC; None where it is no number between 2000 and 2100."""
    value = value_at(body, path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return datetime.fromtimestamp(value, UTC) if _EARLIEST <= value < _LATEST else None


def amount(body: Mapping[str, Any], path: str, evidence: Mapping[str, Any]) -> Decimal | None:
    """The amount of money at a dotted path; None where it is absent or null.

    A binary fraction is read as its shortest decimal, and rounded half-even to the 18 decimals at which reported amounts are kept.
    Raises UsageContradiction `not_an_amount` for a negative one, NaN, or another type.
    """
    value = value_at(body, path)
    if value is None:
        return None
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if isinstance(exact, int) and not isinstance(exact, bool) and exact.bit_length() <= 64:
        exact = Decimal(exact)
    if not isinstance(exact, Decimal) or not exact.is_finite() or exact < 0:
        raise UsageContradiction("not_an_amount", f"{path} is {shown(value)}", evidence)
    try:
        return _REPORTED.quantize(exact, Decimal("1e-18")).normalize(_REPORTED)
    except InvalidOperation:
        raise UsageContradiction("not_an_amount", f"{path} is {shown(value)}", evidence) from None


def merged(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One object out of streamed ones: their values are cumulative, the last one stated wins, field by field; null states nothing."""
    result: dict[str, Any] = {}
    for event in events:
        for key, value in event.items():
            known = result.get(key)
            if isinstance(value, Mapping) and isinstance(known, Mapping):
                result[key] = merged((known, value))
            elif value is not None or key not in result:
                result[key] = value
    return result
