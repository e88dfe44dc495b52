"""How do tariffs and aliases look as table rows, and back? Whoever stores them writes the SQL; names are those of the columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from accounting.errors import PriceBookError
from accounting.money import from_minor, parse_unit_price
from accounting.pricing.tariff import Alias, Tariff
from accounting.usage.classes import UNIT_CLASSES

_PER_TOKEN_CLASS = 1_000_000

_PLAIN_COLUMNS = (
    "tenant",
    "seller",
    "surface",
    "model",
    "service_tier",
    "above_input_tokens",
    "operator",
    "window_start",
    "window_end",
    "effective_from",
    "effective_until",
    "currency",
    "source",
    "source_version",
    "checked_on",
    "region",
    "decided_by",
    "derived_from",
)


def tariff_row(tariff: Tariff) -> dict[str, Any]:
    """One row of the table of tariffs."""
    plain = {name: getattr(tariff, name) for name in _PLAIN_COLUMNS}
    return {"sku_price_id": tariff.sku_price_id, "hash": tariff.hash, **plain}


def price_rows(tariff: Tariff) -> list[dict[str, Any]]:
    """Its rows of the table of prices, one for each class that can be priced.

    `unit_price` is a Decimal of currency units for `per` tokens or units. A class without a price of its own has the price of the
    class named in `fallback`, and no `price_text`.
    """
    rows = []
    for token_class in (*tariff.prices, *tariff.fallbacks):
        fallback = tariff.fallbacks.get(token_class)
        per = UNIT_CLASSES.get(token_class, _PER_TOKEN_CLASS)
        row = {
            "sku_price_id": tariff.sku_price_id,
            "tenant": tariff.tenant,
            "token_class": token_class,
            "unit_price": from_minor(tariff.prices[fallback or token_class] * per),
            "per": per,
            "fallback": fallback,
            "price_text": None if fallback else tariff.price_texts.get(token_class),
        }
        rows.append(row)
    return rows


def tariff_from_rows(row: Mapping[str, Any], prices: Iterable[Mapping[str, Any]]) -> Tariff:
    """The tariff that `tariff_row` and `price_rows` wrote. Raises PriceBookError where it no longer has the hash stored with it."""
    prices = list(prices)
    plain = {name: row[name] for name in _PLAIN_COLUMNS}
    plain |= {name: _utc(row[name]) for name in ("effective_from", "effective_until")}
    tariff = Tariff(
        **plain,
        prices={one["token_class"]: _price(one) for one in prices if one["fallback"] is None},
        fallbacks={one["token_class"]: one["fallback"] for one in prices if one["fallback"] is not None},
        price_texts={one["token_class"]: one["price_text"] for one in prices if one["price_text"] is not None},
    )
    if tariff.hash != row["hash"] or tariff.sku_price_id != row["sku_price_id"]:
        raise PriceBookError(
            f"price row {row['sku_price_id']:016x} does not match its hash: {tariff.hash} now, {row['hash']} stored"
        )
    return tariff


def alias_row(alias: Alias) -> dict[str, Any]:
    """One row of the table of aliases."""
    return {name: getattr(alias, name) for name in ("tenant", "seller", "alias", "model", "source", "checked_on")}


def alias_from_row(row: Mapping[str, Any]) -> Alias:
    """The alias that `alias_row` wrote."""
    return Alias(row["seller"], row["alias"], row["model"], row["source"], row["checked_on"], row["tenant"])


def _price(row: Mapping[str, Any]) -> int:
    price: Decimal = row["unit_price"]
    return parse_unit_price(price, row["token_class"]) * (_PER_TOKEN_CLASS // int(row["per"]))


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
