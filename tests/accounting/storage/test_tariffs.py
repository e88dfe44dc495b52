"""Do price rows survive the tables, and does a newer version of the source replace what it no longer states?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from accounting.errors import PriceBookError
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.tariffs import load_book, read_tariffs, seed_list_tariffs, write_tariffs
from accounting.storage.tenants import create_tenant
from tests.conftest import Database

pytestmark = pytest.mark.storage
PLAIN = Tariff(
    seller="acme",
    model="m1",
    prices={"uncached_input": 3_000_000_000, "output": 15_000_000_000, "web_search": 10_000_000_000_000},
    fallbacks={"cache_read": "uncached_input"},
    price_texts={"uncached_input": "3", "output": "15", "web_search": "10"},
    source="test",
    source_version="1.9",
)
NAME = Alias("acme", "m1", "m1", "test")


@pytest.fixture(scope="module")
def tenant(database: Database) -> str:
    create_tenant(database.owner, "acme", "Acme")
    return "acme"


def test_the_book_of_the_tables_is_the_book_of_the_source(database: Database, tenant: str) -> None:
    tariffs, aliases, _ = load_list_tariffs()
    tariffs.sort(key=lambda row: row.sku_price_id)
    aliases.sort(key=lambda name: (name.seller, name.alias))
    assert read_tariffs(database.app, tenant) == (tariffs, aliases)
    ours, theirs = load_book(database.app, tenant), PriceBook(tariffs, aliases)
    assert ours.rows == theirs.rows
    for name in ("sku_price_ids", "currency_at", "plan"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    for token_class, prices in theirs.prices.items():
        assert np.array_equal(ours.prices[token_class], prices), token_class
        assert np.array_equal(ours.missing[token_class], theirs.missing[token_class]), token_class


def test_seeding_again_adds_nothing(database: Database) -> None:
    counts = text(
        "SELECT (SELECT count(*) FROM tariffs), (SELECT count(*) FROM tariff_prices), (SELECT count(*) FROM tariff_aliases)"
    )
    with database.owner.connect() as connection:
        before = connection.execute(counts).one()
    assert seed_list_tariffs(database.owner) == 0
    with database.owner.connect() as connection:
        assert connection.execute(counts).one() == before


def _write(database: Database, rows: list[Tariff], aliases: list[Alias]) -> int:
    _, every, _ = load_list_tariffs()
    with database.owner.begin() as connection:
        return write_tariffs(connection, rows, [*every, *aliases])


def _ours(database: Database, tenant: str) -> list[Tariff]:
    return [row for row in read_tariffs(database.app, tenant)[0] if row.source == "test"]


def test_prices_are_stored_as_they_are_stated(database: Database, tenant: str) -> None:
    assert _write(database, [PLAIN], [NAME]) == 1
    query = text(
        "SELECT token_class, unit_price::text, per, fallback, price_text FROM tariff_prices WHERE sku_price_id = :id ORDER BY 1"
    )
    with database.owner.connect() as connection:
        rows = [tuple(row) for row in connection.execute(query, {"id": PLAIN.sku_price_id})]
    assert rows == [
        ("cache_read", "3.000000000000000000", 1_000_000, "uncached_input", None),
        ("output", "15.000000000000000000", 1_000_000, None, "15"),
        ("uncached_input", "3.000000000000000000", 1_000_000, None, "3"),
        ("web_search", "10.000000000000000000", 1_000, None, "10"),
    ]
    assert _ours(database, tenant) == [PLAIN]


def test_a_newer_version_ends_a_price_withdraws_one_and_keeps_its_row(database: Database, tenant: str) -> None:
    change = datetime(2026, 7, 1, tzinfo=UTC)
    withdrawn = replace(PLAIN, model="m2")
    _write(database, [PLAIN, withdrawn], [NAME, Alias("acme", "m2", "m2", "test")])
    ended = replace(PLAIN, effective_until=change, source_version="1.10")
    following = replace(
        PLAIN, effective_from=change, prices={"uncached_input": 1, "output": 1}, price_texts={}, source_version="1.10"
    )
    assert _write(database, [ended, following], [NAME]) == 1
    assert sorted(_ours(database, tenant), key=lambda row: row.effective_from is not None) == [ended, following]
    load_book(database.app, tenant)
    with database.owner.connect() as connection:
        kept = connection.execute(text("SELECT count(*) FROM tariffs WHERE source = 'test'")).scalar_one()
        current = text("SELECT alias FROM tariff_aliases WHERE seller = 'acme' AND recorded_until IS NULL")
        names = connection.execute(current).scalars().all()
    assert (kept, names) == (3, ["m1"])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tariff_prices SET unit_price = 4",
        "DELETE FROM tariffs WHERE source = 'test'",
        "UPDATE tariff_records SET state = 'refused'",
        "TRUNCATE audit_log",
        "DELETE FROM contracts",
    ],
)
def test_not_even_the_owner_edits_what_was_stated(database: Database, statement: str) -> None:
    with database.owner.connect() as connection, pytest.raises(ProgrammingError, match="its rows are never edited"):
        connection.execute(text(statement))


def test_an_edited_price_is_noticed(database: Database, tenant: str) -> None:
    _edit(database, "4")
    with pytest.raises(PriceBookError, match="does not match its hash"):
        read_tariffs(database.app, tenant)
    _edit(database, "0.0000000001")
    with pytest.raises(PriceBookError, match="more decimals than the scale holds"):
        read_tariffs(database.app, tenant)


def _edit(database: Database, price: str) -> None:
    """What only someone can do who takes the guard away."""
    edit = f"UPDATE tariff_prices SET unit_price = {price} WHERE token_class = 'output' AND price_text = '15'"
    with database.owner.begin() as connection:
        for act in (
            "ALTER TABLE tariff_prices DISABLE TRIGGER never_edited",
            edit,
            "ALTER TABLE tariff_prices ENABLE TRIGGER never_edited",
        ):
            connection.execute(text(act))
