"""Price books for tests whose rows also stand in the tables, so that the check can multiply them."""

from __future__ import annotations

from collections.abc import Sequence

from accounting.pricing.book import PriceBook
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.tariffs import write_tariffs
from tests.conftest import Database


def stored_book(database: Database, tariffs: Sequence[Tariff], names: Sequence[Alias]) -> PriceBook:
    """A book of these rows alone; the rows are stored beside those already there."""
    with database.owner.begin() as connection:
        write_tariffs(connection, tariffs, [])
    return PriceBook(tariffs, names)
