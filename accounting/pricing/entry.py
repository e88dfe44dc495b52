"""Can a price row that somebody typed in be believed, and which row is it?

Every refusal names the field and the value. Prices are decimal text, per million tokens or per thousand units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time

from accounting.errors import InvalidInput, PriceBookError
from accounting.money import format_scaled, parse_unit_price
from accounting.pricing.currency_codes import currency_code
from accounting.pricing.data_files import seller_names, tier_names
from accounting.pricing.names import as_priced
from accounting.pricing.tariff import DEFAULT_TIER, Tariff, fallbacks_for
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES

TEXT_FIELDS = ("seller", "model", "surface", "region", "service_tier", "operator", "decided_by", "currency")
OTHER_FIELDS = ("above_input_tokens", "window_start", "window_end", "effective_from", "effective_until", "checked_on")
PROVENANCE_FIELDS = ("source", "source_version", "created_by", "approved_by")
ENTRY_FIELDS = (*TEXT_FIELDS, *OTHER_FIELDS, *PRICED_CLASSES, *PROVENANCE_FIELDS)
"""Fields of a typed-in row, those of `Tariff` and one a priced class. Only seller, model and one price are required."""

FAR_OFF = 1_000
"""A price this many times above or below all its siblings was stated for another number of tokens."""

Entry = Mapping[str, str | int | None]


def tariff_from_entry(entry: Entry, siblings: Iterable[Tariff] = (), tenant: str | None = None) -> Tariff:
    """The row of an entry; an empty text is as good as an absent field.

    Args:
        siblings: rows to compare with, of any source: those of the same model decide, else those of the same seller, else the middle
            price of all.
        tenant: whose own row it is; None for a list row.

    Raises InvalidInput for a value, PriceBookError for a row that contradicts itself.
    """
    fields = {name: value for name, value in entry.items() if value is not None and value != ""}
    for name, value in fields.items():
        if name not in ENTRY_FIELDS:
            raise InvalidInput(name, value, f"no field of a price row; there are {', '.join(ENTRY_FIELDS)}")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise InvalidInput(name, value, f"{type(value).__name__} is not text; a float may already have lost digits")
    texts = {name: str(value).strip() for name, value in fields.items()}
    for name, text in texts.items():
        if "\x00" in text or (not text.isascii() and any("\ud800" <= one <= "\udfff" for one in text)):
            raise InvalidInput(name, text, "holds a character that can't be kept: U+0000 or half of a pair")
    _check_names(texts)
    prices = {name: _price(name, texts[name]) for name in PRICED_CLASSES if name in texts}
    if not prices:
        raise InvalidInput("prices", None, "no price at all; a model without a price is one that no row is about")
    try:
        row = Tariff(
            **{name: texts[name] for name in (*TEXT_FIELDS, *PROVENANCE_FIELDS) if name in texts},  # type: ignore[arg-type]
            prices=prices,
            fallbacks=fallbacks_for(prices),
            above_input_tokens=_whole(texts, "above_input_tokens"),
            window_start=_time(texts, "window_start"),
            window_end=_time(texts, "window_end"),
            effective_from=_instant(texts, "effective_from"),
            effective_until=_instant(texts, "effective_until"),
            checked_on=_day(texts, "checked_on"),
            price_texts={name: texts[name] for name in prices},
            tenant=tenant,
        )
    except PriceBookError as fault:
        raise InvalidInput("row", f"{texts.get('seller')}/{texts.get('model')}", str(fault)) from None
    _compare(row, texts, siblings)
    return row


def _price(token_class: str, text: str) -> int:
    return parse_unit_price(text, token_class) * (1_000 if token_class in UNIT_CLASSES else 1)


def _check_names(texts: Mapping[str, str]) -> None:
    for name in ("seller", "model"):
        if name not in texts:
            raise InvalidInput(name, None, "a price row names its seller and its model")
    _check_name("seller", texts["seller"], seller_names())
    _check_name("service_tier", texts.get("service_tier", DEFAULT_TIER), tier_names())
    currency_code(texts.get("currency", "USD"))


def _check_name(field: str, name: str, logged: Mapping[str, str]) -> None:
    known = as_priced(name, logged)
    if known != name:
        raise InvalidInput(field, name, f"price rows call it {known!r}; under this name no call would find the price")


def _compare(row: Tariff, texts: Mapping[str, str], siblings: Iterable[Tariff]) -> None:
    """Refuses a price that is far off from all siblings: a price per token, or per thousand, typed in as per million."""
    alike = [one for one in siblings if one.currency == row.currency]
    of_model = [one for one in alike if one.model.lower() == row.model.lower()]
    of_seller = [one for one in alike if one.seller == row.seller]
    for token_class, price in row.prices.items():
        near = _stating(of_model, token_class) or _stating(of_seller, token_class)
        if not near:
            # Of a seller that nobody knows: the whole list spreads so wide that only its middle tells units apart.
            every = _stating(alike, token_class)
            near = every[len(every) // 2 :][:1]
        if not price or not near:
            continue
        lowest, highest = near[0], near[-1]
        if price * FAR_OFF <= lowest.prices[token_class]:
            raise _far_off(token_class, texts, "below", lowest)
        if price >= highest.prices[token_class] * FAR_OFF:
            raise _far_off(token_class, texts, "above", highest)


def _stating(rows: Iterable[Tariff], token_class: str) -> list[Tariff]:
    """Those that state a price of the class, ascending by it."""
    return sorted((one for one in rows if one.prices.get(token_class)), key=lambda one: one.prices[token_class])


def _far_off(token_class: str, texts: Mapping[str, str], side: str, sibling: Tariff) -> InvalidInput:
    units = token_class in UNIT_CLASSES
    stated = format_scaled(sibling.prices[token_class], 12 if units else 9)
    return InvalidInput(
        token_class,
        texts[token_class],
        f"{FAR_OFF:,} times or more {side} {stated} of {sibling.seller}/{sibling.model} ({sibling.source}); prices are per "
        f"{'thousand units' if units else 'million tokens'}",
    )


def _whole(texts: Mapping[str, str], name: str) -> int:
    text = texts.get(name, "0").replace("_", "")
    if not text.isdecimal():
        raise InvalidInput(name, texts[name], "a whole number is expected")
    if len(text) > 12:
        raise InvalidInput(name, texts[name], "a whole number of at most 12 digits is expected")
    return int(text)


def _time(texts: Mapping[str, str], name: str) -> time | None:
    if name not in texts:
        return None
    try:
        found = time.fromisoformat(texts[name])
    except ValueError:
        raise InvalidInput(name, texts[name], "a UTC time of day is expected (16:30)") from None
    if found.tzinfo is not None and found.utcoffset():
        raise InvalidInput(name, texts[name], "a UTC time of day is expected (16:30)")
    return found.replace(tzinfo=None)


def _instant(texts: Mapping[str, str], name: str) -> datetime | None:
    """A day is its first instant in UTC; an instant states its zone."""
    if name not in texts:
        return None
    day = _as_day(texts[name])
    if day is not None:
        return datetime.combine(day, time(0), UTC)
    try:
        moment = datetime.fromisoformat(texts[name])
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput(name, texts[name], "a day (2026-03-13) or an instant with its zone is expected")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(name, texts[name], "lies beyond the calendar") from None


def _day(texts: Mapping[str, str], name: str) -> date | None:
    day = _as_day(texts[name]) if name in texts else None
    if day is None and name in texts:
        raise InvalidInput(name, texts[name], "a day is expected (2026-03-13)")
    return day


def _as_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None
