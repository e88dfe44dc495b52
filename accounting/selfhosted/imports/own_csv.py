"""What does a CSV file of pool costs say? One hour or one longer period a row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from accounting.errors import InvalidInput
from accounting.pricing.currency_codes import currency_code
from accounting.selfhosted.imports.read_costs import ReadCosts
from accounting.selfhosted.pool import HOUR_US
from accounting.selfhosted.pool_settings import interval, named
from accounting.selfhosted.rates import us
from accounting.selfhosted.spread import ImportedCost

REQUIRED = ("pool", "cost", "currency")
OPTIONAL = ("hour", "from", "until", "gpu_hours")
_MOST_GPU_HOURS = 10**9


def read_own_csv(rows: Iterable[tuple[int, dict[str, str]]]) -> ReadCosts:
    """Costs of rows (line, column -> text): pool, cost, currency; hour, or from and until; gpu_hours where it is known.

    A row that can't be used is rejected by field; the others are kept.
    """
    found = ReadCosts()
    for line, cells in rows:
        try:
            cost, currency = _parse(line, cells), currency_code(cells["currency"])
        except InvalidInput as error:
            found.reject(line, error)
            continue
        found.costs.append(cost)
        found.currencies[line] = currency
    return found


def _parse(line: int, cells: dict[str, str]) -> ImportedCost:
    if "" in cells:
        raise InvalidInput("line", cells[""], "has more cells than the heading")
    hour, since, until = (cells.get(name) or None for name in ("hour", "from", "until"))
    if (hour is None) == (since is None or until is None) or (hour is not None and (since or until)):
        raise InvalidInput("hour", hour, "a row has either an hour, or both from and until")
    start = instant("hour", hour) if hour else instant("from", since or "")
    if hour and us(start) % HOUR_US:
        raise InvalidInput("hour", hour, "a full hour is expected, such as 2026-09-01T05:00:00Z")
    end_us = us(start) + HOUR_US
    if until:
        end = instant("until", until)
        if end <= start:
            raise InvalidInput("until", until, f"must be after from {since}")
        end_us = us(end)
    gpu_hours = cells.get("gpu_hours") or None
    if gpu_hours is not None and hour is None:
        raise InvalidInput(
            "gpu_hours", gpu_hours, "is for a row of one hour; a longer period takes them from the schedule"
        )
    amount = exact("cost", cells["cost"])
    if amount < 0:
        raise InvalidInput("cost", cells["cost"], "can't be negative")
    return ImportedCost(
        pool_id=named("pool", cells["pool"]),
        start_us=us(start),
        end_us=end_us,
        amount=amount,
        gpu_us=None if gpu_hours is None else _gpu_us(gpu_hours),
        label="",
        line=line,
    )


def exact(field: str, text: str) -> Fraction:
    """A number as it was written, exactly; an exponent is taken. Raises InvalidInput for NaN, infinity and what is no number."""
    if not re.fullmatch(r"[+-]?[0-9]{1,38}(\.[0-9]{0,38})?([eE][+-]?[0-9]{1,2})?", text.strip()):
        raise InvalidInput(field, text, "a number is expected")
    try:
        return Fraction(Decimal(text.strip()))
    except InvalidOperation as error:
        raise InvalidInput(field, text, "a number is expected") from error


def instant(field: str, text: str) -> datetime:
    """A moment as billers write it, in UTC where no zone stands (FOCUS has no other); a day is its first instant."""
    try:
        found = datetime.fromisoformat(text.strip().removesuffix(" UTC"))
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(field, text, "a moment such as 2026-09-01T05:00:00Z is expected") from error
    interval(found, None)
    return found


def _gpu_us(text: str) -> int:
    hours = exact("gpu_hours", text)
    if not 0 <= hours < _MOST_GPU_HOURS:
        raise InvalidInput("gpu_hours", text, f"a number from 0 to below {_MOST_GPU_HOURS} is expected")
    return round(hours * HOUR_US)
