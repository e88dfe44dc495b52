"""Is a price row what it claims to be, and is its id the same everywhere?"""

import os
import subprocess
import sys
from datetime import UTC, datetime, time, timedelta, timezone
from typing import Any

import pytest

from accounting.errors import PriceBookError
from accounting.pricing.tariff import Tariff, fallbacks_for

START = datetime(2026, 3, 13, tzinfo=UTC)


def row(**changes: Any) -> Tariff:
    return Tariff(**({"seller": "openai", "model": "gpt-5", "prices": {"uncached_input": 1_250_000_000}} | changes))


def test_the_id_is_pinned() -> None:
    priced = row(
        prices={"uncached_input": 1_250_000_000, "output": 10_000_000_000}, fallbacks={"cache_read": "uncached_input"}
    )
    assert priced.sku_price_text == "42d9c2695360af5a"
    assert priced.sku_price_id == int("42d9c2695360af5a", 16)


def test_the_id_is_the_same_in_another_process() -> None:
    code = (
        "from accounting.pricing.tariff import Tariff;"
        "print(Tariff(seller='openai', model='gpt-5', prices={'uncached_input': 1250000000}).sku_price_text)"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "TZ": "Asia/Kathmandu"}
        told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert told.stdout.strip() == row().sku_price_text


def test_the_id_changes_with_price_and_condition_but_not_with_where_it_was_read() -> None:
    ids = {
        row().sku_price_id,
        row(prices={"uncached_input": 1_250_000_001}).sku_price_id,
        row(service_tier="batch").sku_price_id,
        row(above_input_tokens=200_000).sku_price_id,
        row(operator=">=").sku_price_id,
        row(effective_from=START).sku_price_id,
        row(window_start=time(0, 30), window_end=time(16, 30)).sku_price_id,
        row(seller="azure").sku_price_id,
        row(currency="EUR").sku_price_id,
        row(fallbacks={"cache_read": "uncached_input"}).sku_price_id,
        row(tenant="acme").sku_price_id,
    }
    assert len(ids) == 11
    assert (
        row().sku_price_id == row(source="x", source_version="2", price_texts={"uncached_input": "1.25"}).sku_price_id
    )


def test_the_end_of_validity_leaves_the_id_alone() -> None:
    assert row(effective_until=START).sku_price_id == row().sku_price_id


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prices": {}}, "no price at all"),
        ({"prices": {"uncached_input": 1.5}}, "whole number"),
        ({"prices": {"uncached_input": -1}}, "whole number"),
        ({"prices": {"input": 1}}, "unknown token class 'input'"),
        ({"fallbacks": {"cache_read": "cache_write"}}, "fallback cache_read -> cache_write"),
        ({"operator": "<"}, "no condition"),
        ({"window_start": time(1)}, "a start and an end"),
        ({"effective_from": datetime(2026, 1, 1)}, "not UTC"),
        ({"effective_from": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, "not UTC"),
        ({"effective_from": START, "effective_until": START}, "not after its start"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(PriceBookError, match=fault):
        row(**changes)


def test_fallbacks_take_the_first_class_that_has_a_price() -> None:
    found = fallbacks_for({"uncached_input": 2, "output": 8, "cache_write": 3})
    assert found["cache_read"] == "uncached_input"
    assert found["cache_write_1h"] == "cache_write"
    assert found["audio_output"] == "output"
    assert "reasoning" not in found
    assert "web_search" not in found


def test_cached_audio_costs_what_audio_costs_where_nothing_cached_has_a_price() -> None:
    assert fallbacks_for({"uncached_input": 2, "audio_input": 32})["audio_cache_read"] == "audio_input"
    assert fallbacks_for({"uncached_input": 2, "audio_input": 32, "cache_read": 1})["audio_cache_read"] == "cache_read"


def test_a_withheld_class_has_no_fallback_and_lends_none() -> None:
    found = fallbacks_for({"uncached_input": 2, "output": 8}, frozenset({"cache_write"}))
    assert "cache_write" not in found
    assert "cache_write_5m" not in found
    assert found["cache_read"] == "uncached_input"
