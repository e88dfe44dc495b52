"""Which price row do the fields of a person's line mean? Text in, a `Tariff` out; a field that is not known is refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from accounting.errors import InvalidInput, MoneyError, PriceBookError
from accounting.pricing.genai_prices_keys import unit_price
from accounting.pricing.sources.statement import parse
from accounting.pricing.tariff import Tariff, fallbacks_for
from accounting.usage.classes import PRICED_CLASSES

_CURRENCY = re.compile("[A-Z]{3}")


def _text(value: str) -> str:
    return value


def _whole(value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise ValueError("a whole number of tokens is expected")
    return int(value)


def _moment(value: str) -> datetime:
    """A day is its first instant in UTC."""
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        if moment.time() != time(0):
            raise ValueError("a time of day needs its offset, such as Z")
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def _clock(value: str) -> time:
    clock = time.fromisoformat(value)
    if clock.tzinfo is not None or clock.microsecond:
        raise ValueError("a UTC time of day such as 16:30 is expected")
    return clock


def _currency(value: str) -> str:
    if not _CURRENCY.fullmatch(value):
        raise ValueError("an ISO 4217 code of three capitals is expected")
    return value


CONDITIONS: Mapping[str, Callable[[str], Any]] = {
    "seller": str.lower,
    "model": _text,
    "service_tier": str.lower,
    "surface": _text,
    "region": _text,
    "above_input_tokens": _whole,
    "operator": _text,
    "decided_by": _text,
    "window_start": _clock,
    "window_end": _clock,
    "effective_from": _moment,
    "effective_until": _moment,
    "currency": _currency,
    "source": _text,
    "source_version": _text,
    "checked_on": date.fromisoformat,
}
FIELDS = (*CONDITIONS, *PRICED_CLASSES)
"""Fields of a line: conditions, then prices per million tokens of a class, per thousand of a counted thing."""


def typed_row(record: Mapping[str, str]) -> Tariff:
    """The row of one line. Raises InvalidInput that names the field and the value."""
    plain: dict[str, Any] = {}
    prices: dict[str, int] = {}
    texts: dict[str, str] = {}
    for name, value in record.items():
        if name in CONDITIONS:
            plain[name] = _read(name, value)
        elif name in PRICED_CLASSES:
            prices[name], texts[name] = _price(name, value), value
        else:
            raise InvalidInput(name, value, f"no field of a price row; those are {', '.join(FIELDS)}")
    for name in ("seller", "model"):
        if not plain.get(name):
            raise InvalidInput(name, plain.get(name), "must be stated")
    try:
        return Tariff(**plain, prices=prices, fallbacks=fallbacks_for(prices), price_texts=texts)
    except PriceBookError as error:
        raise InvalidInput("price row", f"{plain['seller']}/{plain['model']}", str(error)) from error


def _read(name: str, value: str) -> Any:
    try:
        return CONDITIONS[name](value)
    except ValueError as error:
        raise InvalidInput(name, value, str(error)) from None


def _price(name: str, value: str) -> int:
    try:
        return unit_price(name, parse(value))
    except MoneyError as error:
        raise InvalidInput(name, value, error.reason) from None
