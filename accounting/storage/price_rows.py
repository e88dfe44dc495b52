"""How does the content of price rows get into the tables and out again? Rows and prices, which are never edited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from sqlalchemy import Connection, Row, text

from accounting.errors import PriceBookError
from accounting.money import format_scaled
from accounting.pricing.tariff import Tariff
from accounting.usage.classes import UNIT_CLASSES

PER_TOKENS = 1_000_000
STATED_SCALE = {1_000_000: 9, 1_000: 12}
"""Decimals of a stored price, by what it is stated per, that make one whole number of 10^-15 units for one token or unit."""

CONTENT = (
    "sku_price_id",
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
    "hash",
    "region",
    "decided_by",
    "derived_from",
)
_TARIFF_COLUMNS = ", ".join(CONTENT)
_PRICE_COLUMNS = "sku_price_id, tenant, token_class, unit_price, per, fallback, price_text"
# Inserted where it is new. Prices go in only with their row: what stands is never added to.
_MERGE_TARIFFS = f"""
INSERT INTO tariffs ({_TARIFF_COLUMNS}) SELECT {_TARIFF_COLUMNS} FROM new_tariffs
ON CONFLICT (sku_price_id) DO NOTHING
"""
_MERGE_PRICES = f"""
INSERT INTO tariff_prices ({_PRICE_COLUMNS}) SELECT {_PRICE_COLUMNS} FROM new_tariff_prices AS new
WHERE NOT EXISTS (SELECT FROM tariff_prices AS old WHERE old.sku_price_id = new.sku_price_id)
ON CONFLICT DO NOTHING
"""
# One line a row: arrays in the order of the classes. whole: the price in 10^-15 units, which must have no fraction.
PRICES = text(
    """
    SELECT sku_price_id, array_agg(token_class) AS classes, array_agg(fallback) AS fallbacks, array_agg(price_text) AS texts,
           array_agg(CASE WHEN whole = trunc(whole) THEN whole::bigint END) AS prices, array_agg(unit_price::text) AS stated
    FROM (SELECT *, unit_price * CASE per WHEN 1000000 THEN 1000000000 ELSE 1000000000000 END AS whole FROM tariff_prices
          WHERE CAST(:every AS boolean) OR sku_price_id = ANY(:ids)
          ORDER BY sku_price_id, token_class) AS p
    GROUP BY sku_price_id
    """
)
Price = tuple[str, str | None, str | None, int | None, str]
"""Class, class whose price stands in, text as the source wrote it, whole 10^-15 units, price as stored."""


def write_content(connection: Connection, tariffs: Iterable[Tariff]) -> int:
    """Adds the rows that are not there yet, within the caller's transaction; returns how many those were."""
    rows = list(tariffs)
    if not rows:
        return 0
    copy_rows(connection, "tariffs", _TARIFF_COLUMNS, map(_tariff_row, rows))
    copy_rows(connection, "tariff_prices", _PRICE_COLUMNS, (row for tariff in rows for row in _price_rows(tariff)))
    made = connection.execute(text(_MERGE_TARIFFS)).rowcount
    connection.execute(text(_MERGE_PRICES))
    return int(made)


def read_prices(connection: Connection, ids: Sequence[int] | None = None) -> dict[int, list[Price]]:
    """Prices by row, of the rows named or of all that are visible."""
    rows = connection.execute(PRICES, {"every": ids is None, "ids": list(ids or ())})
    return {
        row.sku_price_id: list(zip(row.classes, row.fallbacks, row.texts, row.prices, row.stated, strict=True))
        for row in rows
    }


def tariff_of(row: Row[Any], prices: Sequence[Price], **statement: Any) -> Tariff:
    """The price row that was written. `statement`: what the newest record says of it, beside its content.

    Raises PriceBookError for a price the scale can't hold, and for a row that no longer has the hash stored with it.
    """
    return _checked(row._fields, row, tuple(prices), tuple(statement.items()))


@lru_cache(maxsize=1 << 16)
def _checked(
    _fields: tuple[str, ...], row: Row[Any], prices: tuple[Price, ...], statement: tuple[tuple[str, Any], ...]
) -> Tariff:
    """Rows are never edited, so the same content is the same tariff whoever reads it again, and was checked the first time."""
    own: dict[str, int] = {}
    for token_class, fallback, _, price, stated in prices:
        if price is None:
            raise PriceBookError(
                f"tariff {row.sku_price_id}: {token_class} at {stated} has more decimals than the scale holds"
            )
        if fallback is None:
            own[token_class] = price
    plain = {name: getattr(row, name) for name in CONTENT if name not in ("sku_price_id", "hash")}
    tariff = Tariff(
        **plain | dict(statement),
        prices=own,
        fallbacks={token_class: used for token_class, used, *_ in prices if used is not None},
        price_texts={token_class: text for token_class, _, text, *_ in prices if text is not None},
    )
    if tariff.sku_price_id != row.sku_price_id or tariff.hash != row.hash:
        raise PriceBookError(
            f"tariff {row.sku_price_id} of {row.seller} for {row.model}: the row does not match its hash"
        )
    return tariff


def copy_rows(connection: Connection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """COPY into a temporary table `new_TABLE` of the same form, dropped with the transaction."""
    # Several writes may share a transaction.
    connection.execute(text(f"DROP TABLE IF EXISTS new_{table}"))
    connection.execute(
        text(f"CREATE TEMP TABLE new_{table} ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA")
    )
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    with raw.cursor() as cursor, cursor.copy(f"COPY new_{table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(text(f"ANALYZE new_{table}"))


def _tariff_row(tariff: Tariff) -> tuple[Any, ...]:
    return tuple(getattr(tariff, name) for name in CONTENT)


def _price_rows(tariff: Tariff) -> list[tuple[Any, ...]]:
    """One row a class that can be priced; a fallback repeats the price it takes, so that SQL multiplies without a second look-up."""
    taken: list[tuple[str, str | None, int]] = [
        (token_class, None, price) for token_class, price in tariff.prices.items()
    ]
    taken += [(token_class, used, tariff.prices[used]) for token_class, used in tariff.fallbacks.items()]
    rows: list[tuple[Any, ...]] = []
    for token_class, used, price in taken:
        per = UNIT_CLASSES.get(token_class, PER_TOKENS)
        unit_price = format_scaled(price, STATED_SCALE[per])
        stated = None if used else tariff.price_texts.get(token_class)
        rows.append((tariff.sku_price_id, tariff.tenant, token_class, unit_price, per, used, stated))
    return rows
