"""How do price rows get into the tables and out again? List tariffs in, a compiled price book out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, text

from accounting.errors import PriceBookError
from accounting.money import format_scaled
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.engine import reaching, read_only
from accounting.usage.classes import UNIT_CLASSES

PER_TOKENS = 1_000_000
_STATED_SCALE = {1_000_000: 9, 1_000: 12}
"""Decimals of a stored price, by what it is stated per, that make one whole number of 10^-15 units for one token or unit."""

_TARIFF_COLUMNS = (
    "sku_price_id, tenant, seller, surface, model, service_tier, above_input_tokens, operator, window_start, window_end, "
    "effective_from, effective_until, currency, source, source_version, checked_on, hash"
)
_PRICE_COLUMNS = "sku_price_id, tenant, token_class, unit_price, per, fallback, price_text"
_ALIAS_COLUMNS = "tenant, seller, alias, model_seller, model, source, checked_on"

# A row that its source still states keeps its id and its prices; only the end of validity, which a successor sets, and the
# newest version that states it move.
_MERGE_TARIFFS = f"""
INSERT INTO tariffs ({_TARIFF_COLUMNS}) SELECT {_TARIFF_COLUMNS} FROM new_tariffs
ON CONFLICT (sku_price_id) DO UPDATE
SET effective_until = excluded.effective_until, source_version = excluded.source_version, checked_on = excluded.checked_on
WHERE (tariffs.effective_until, tariffs.source_version, tariffs.checked_on)
  IS DISTINCT FROM (excluded.effective_until, excluded.source_version, excluded.checked_on)
"""
_MERGE_PRICES = f"""
INSERT INTO tariff_prices ({_PRICE_COLUMNS}) SELECT {_PRICE_COLUMNS} FROM new_tariff_prices AS new
WHERE NOT EXISTS (SELECT FROM tariff_prices AS old WHERE old.sku_price_id = new.sku_price_id)
ON CONFLICT DO NOTHING
"""
_DROP_ALIASES = """
DELETE FROM tariff_aliases AS old WHERE old.tenant IS NULL AND NOT EXISTS (
  SELECT FROM new_tariff_aliases AS new WHERE new.seller = old.seller AND new.alias = old.alias)
"""
_MERGE_ALIASES = f"""
INSERT INTO tariff_aliases ({_ALIAS_COLUMNS}) SELECT {_ALIAS_COLUMNS} FROM new_tariff_aliases
ON CONFLICT (tenant, seller, alias) DO UPDATE
SET model_seller = excluded.model_seller, model = excluded.model, source = excluded.source, checked_on = excluded.checked_on
WHERE (tariff_aliases.model_seller, tariff_aliases.model, tariff_aliases.source, tariff_aliases.checked_on)
  IS DISTINCT FROM (excluded.model_seller, excluded.model, excluded.source, excluded.checked_on)
"""


def seed_list_tariffs(owner_engine: Engine) -> int:
    """Writes the list tariffs and aliases of the installed price source; returns how many tariff rows were new.

    Idempotent. Rows that a newer version of the source no longer states stay in the tables, as charges point at them; `load_book`
    leaves them out.
    """
    tariffs, aliases, _ = load_list_tariffs()
    with reaching(), owner_engine.begin() as connection:
        return write_tariffs(connection, tariffs, aliases)


def write_tariffs(connection: Connection, tariffs: Sequence[Tariff], aliases: Sequence[Alias]) -> int:
    """Merges rows into the tables within the caller's transaction; `aliases` is the whole list. Returns the number of new tariffs."""
    before = _count(connection)
    _copy(connection, "tariffs", _TARIFF_COLUMNS, map(_tariff_row, tariffs))
    _copy(connection, "tariff_prices", _PRICE_COLUMNS, (row for tariff in tariffs for row in _price_rows(tariff)))
    _copy(connection, "tariff_aliases", _ALIAS_COLUMNS, map(_alias_row, aliases))
    for statement in (_MERGE_TARIFFS, _MERGE_PRICES, _DROP_ALIASES, _MERGE_ALIASES):
        connection.execute(text(statement))
    return _count(connection) - before


def load_book(engine: Engine, tenant: str) -> PriceBook:
    """The price book of a tenant: its own rows and the list rows that the newest loaded version of each source states."""
    tariffs, aliases = read_tariffs(engine, tenant)
    return PriceBook(tariffs, aliases)


def read_tariffs(engine: Engine, tenant: str) -> tuple[list[Tariff], list[Alias]]:
    """The rows behind `load_book`, in the order of their ids. Raises PriceBookError for a price the scale can't hold."""
    with read_only(engine, tenant) as connection:
        prices: dict[int, list[Any]] = {}
        for row in connection.execute(_READ_PRICES):
            prices.setdefault(row.sku_price_id, []).append(row)
        rows = connection.execute(_READ_TARIFFS).all()
        aliases = [_alias(row) for row in connection.execute(_READ_ALIASES)]
    newest: dict[str, tuple[int, ...]] = {}
    for row in rows:
        if row.tenant is None:
            newest[row.source] = max(newest.get(row.source, ()), _version(row.source_version))
    kept = [row for row in rows if row.tenant is not None or _version(row.source_version) == newest[row.source]]
    return [_tariff(row, prices.get(row.sku_price_id, [])) for row in kept], aliases


_READ_TARIFFS = text(f"SELECT {_TARIFF_COLUMNS} FROM tariffs ORDER BY sku_price_id")
_READ_PRICES = text(
    """
    SELECT sku_price_id, token_class, fallback, price_text, unit_price,
           CASE WHEN whole = trunc(whole) THEN whole::bigint END AS price
    FROM (SELECT *, unit_price * CASE per WHEN 1000000 THEN 1000000000 ELSE 1000000000000 END AS whole FROM tariff_prices) AS p
    ORDER BY sku_price_id, token_class
    """
)
_READ_ALIASES = text(f"SELECT {_ALIAS_COLUMNS} FROM tariff_aliases ORDER BY tenant, seller, alias")


def _tariff(row: Any, prices: Sequence[Any]) -> Tariff:
    for price in prices:
        if price.price is None:
            raise PriceBookError(
                f"tariff {row.sku_price_id}: {price.token_class} at {price.unit_price} has more decimals than the scale holds"
            )
    tariff = Tariff(
        seller=row.seller,
        model=row.model,
        prices={price.token_class: price.price for price in prices if price.fallback is None},
        fallbacks={price.token_class: price.fallback for price in prices if price.fallback is not None},
        service_tier=row.service_tier,
        above_input_tokens=row.above_input_tokens,
        operator=row.operator,
        window_start=row.window_start,
        window_end=row.window_end,
        effective_from=_utc(row.effective_from),
        effective_until=_utc(row.effective_until),
        currency=row.currency,
        tenant=row.tenant,
        surface=row.surface,
        price_texts={price.token_class: price.price_text for price in prices if price.price_text is not None},
        source=row.source,
        source_version=row.source_version,
        checked_on=row.checked_on,
    )
    if tariff.sku_price_id != row.sku_price_id or tariff.hash != row.hash:
        raise PriceBookError(
            f"tariff {row.sku_price_id} of {row.seller} for {row.model}: the row does not match its hash"
        )
    return tariff


def _alias(row: Any) -> Alias:
    return Alias(row.seller, row.alias, row.model, row.source, row.checked_on, row.tenant)


def _tariff_row(tariff: Tariff) -> tuple[Any, ...]:
    return (
        tariff.sku_price_id,
        tariff.tenant,
        tariff.seller,
        tariff.surface,
        tariff.model,
        tariff.service_tier,
        tariff.above_input_tokens,
        tariff.operator,
        tariff.window_start,
        tariff.window_end,
        tariff.effective_from,
        tariff.effective_until,
        tariff.currency,
        tariff.source,
        tariff.source_version,
        tariff.checked_on,
        tariff.hash,
    )


def _price_rows(tariff: Tariff) -> list[tuple[Any, ...]]:
    """One row a class that can be priced; a fallback repeats the price it takes, so that SQL multiplies without a second look-up."""
    taken: list[tuple[str, str | None, int]] = [
        (token_class, None, price) for token_class, price in tariff.prices.items()
    ]
    taken += [(token_class, used, tariff.prices[used]) for token_class, used in tariff.fallbacks.items()]
    rows: list[tuple[Any, ...]] = []
    for token_class, used, price in taken:
        per = UNIT_CLASSES.get(token_class, PER_TOKENS)
        unit_price = format_scaled(price, _STATED_SCALE[per])
        stated = tariff.price_texts.get(token_class)
        rows.append((tariff.sku_price_id, tariff.tenant, token_class, unit_price, per, used, stated))
    return rows


def _alias_row(alias: Alias) -> tuple[Any, ...]:
    return (alias.tenant, alias.seller, alias.alias, alias.seller, alias.model, alias.source, alias.checked_on)


def _copy(connection: Connection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    connection.execute(text(f"CREATE TEMP TABLE new_{table} (LIKE {table} INCLUDING DEFAULTS) ON COMMIT DROP"))
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    with raw.cursor() as cursor, cursor.copy(f"COPY new_{table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(text(f"ANALYZE new_{table}"))


def _count(connection: Connection) -> int:
    return int(connection.execute(text("SELECT count(*) FROM tariffs")).scalar_one())


def _version(version: str) -> tuple[int, ...]:
    """The numbers of a version or a date, so that 0.10.0 comes after 0.9.1."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
