"""Do tariffs survive a table?"""

from dataclasses import replace
from datetime import date, timedelta, timezone
from decimal import Decimal

import pytest

from accounting.errors import PriceBookError
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.rows import alias_from_row, alias_row, price_rows, tariff_from_rows, tariff_row
from accounting.pricing.tariff import Alias, Tariff

ROW = Tariff(
    seller="openai",
    model="gpt-5",
    prices={"uncached_input": 1_250_000_000, "web_search": 10_000_000_000_000},
    fallbacks={"cache_read": "uncached_input"},
    price_texts={"uncached_input": "1.25", "web_search": "10"},
    source="genai-prices",
    source_version="0.2.3",
    checked_on=date(2026, 11, 29),
)


def test_prices_are_stored_for_a_million_tokens_or_a_thousand_units() -> None:
    told = [
        (row["token_class"], row["unit_price"], row["per"], row["fallback"], row["price_text"])
        for row in price_rows(ROW)
    ]
    assert told == [
        ("uncached_input", Decimal("1.25"), 1_000_000, None, "1.25"),
        ("web_search", Decimal(10), 1_000, None, "10"),
        ("cache_read", Decimal("1.25"), 1_000_000, "uncached_input", None),
    ]


def test_every_list_tariff_and_alias_survives_the_round_trip() -> None:
    rows, names, _ = load_list_tariffs()
    assert [tariff_from_rows(tariff_row(row), price_rows(row)) for row in rows] == rows
    assert [alias_from_row(alias_row(name)) for name in names] == names


def test_what_a_database_changes_in_form_does_not_matter() -> None:
    nepal = timezone(timedelta(hours=5, minutes=45))
    dated = next(row for row in load_list_tariffs()[0] if row.effective_from is not None)
    row = tariff_row(dated)
    row["effective_from"] = dated.effective_from.astimezone(nepal) if dated.effective_from else None
    prices = [one | {"unit_price": one["unit_price"].quantize(Decimal("1e-18"))} for one in price_rows(dated)]
    assert tariff_from_rows(row, reversed(prices)) == dated


def test_a_changed_price_is_noticed() -> None:
    prices = price_rows(ROW)
    prices[0]["unit_price"] = Decimal("1.26")
    with pytest.raises(PriceBookError, match="does not match its hash"):
        tariff_from_rows(tariff_row(ROW), prices)


def test_an_alias_is_stored_with_its_source() -> None:
    alias = Alias("openai", "gpt-5", "gpt-5", "genai-prices", date(2026, 11, 29))
    assert alias_row(alias) == {
        "tenant": None,
        "seller": "openai",
        "alias": "gpt-5",
        "model": "gpt-5",
        "source": "genai-prices",
        "checked_on": date(2026, 11, 29),
    }
    assert alias_from_row(alias_row(replace(alias, tenant="acme"))).tenant == "acme"
