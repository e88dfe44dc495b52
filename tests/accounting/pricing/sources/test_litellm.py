"""What does LiteLLM's table state, key by key, and what of it is named instead of held?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.pricing.sources.litellm import read_table
from accounting.pricing.sources.statement import Statement
from accounting.pricing.tariff import Tariff


def _read(**entries: dict[str, Any]) -> Statement:
    table = {name: {"litellm_provider": "openai", **entry} for name, entry in entries.items()}
    return read_table(json.dumps(table).encode(), "v1")


def _row(statement: Statement, tier: str = "default", above: int = 0) -> Tariff:
    (found,) = [row for row in statement.rows if (row.service_tier, row.above_input_tokens) == (tier, above)]
    return found


def test_a_price_of_a_token_is_read_as_decimal_text_and_stated_for_a_million() -> None:
    table = b'{"m": {"litellm_provider": "openai", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 0.00001}}'
    (row,) = read_table(table, "v1").rows
    assert row.prices == {"output": 10_000_000_000, "uncached_input": 2_500_000_000}
    assert row.price_texts == {"output": "10", "uncached_input": "2.5"}
    assert (row.seller, row.model, row.source, row.source_version) == ("openai", "m", "litellm", "v1")


def test_float_noise_is_dropped_and_a_price_of_more_digits_is_named() -> None:
    table = (
        b'{"m": {"litellm_provider": "x", "input_cost_per_token": 1.7999999999999998e-06, '
        b'"output_cost_per_token": 8.333333333333333e-08}}'
    )
    statement = read_table(table, "v1")
    assert statement.rows[0].prices == {"uncached_input": 1_800_000_000}
    assert statement.findings.withheld == {
        ("m", "output", "output_cost_per_token=0.08333333333333333: more than 9 decimals can't be held exactly")
    }


def test_a_threshold_keeps_the_prices_below_it_that_it_does_not_state() -> None:
    statement = _read(
        m={
            "input_cost_per_token": 3e-06,
            "output_cost_per_token": 15e-06,
            "cache_read_input_token_cost": 3e-07,
            "input_cost_per_token_above_200k_tokens": 6e-06,
        }
    )
    above = _row(statement, above=200_000)
    assert above.operator == ">"
    assert above.prices == {"cache_read": 300_000_000, "output": 15_000_000_000, "uncached_input": 6_000_000_000}


def test_a_threshold_above_which_nothing_changes_is_no_row() -> None:
    statement = _read(m={"input_cost_per_token": 3e-06, "input_cost_per_token_above_200k_tokens": 3e-06})
    assert [row.above_input_tokens for row in statement.rows] == [0]


def test_a_tier_holds_only_what_its_own_keys_state() -> None:
    statement = _read(
        m={
            "input_cost_per_token": 2e-06,
            "output_cost_per_token": 8e-06,
            "input_cost_per_token_batches": 1e-06,
            "output_cost_per_token_batches": 4e-06,
            "input_cost_per_token_priority": 4e-06,
            "input_cost_per_token_above_272k_tokens_priority": 8e-06,
        }
    )
    assert _row(statement, "batch").prices == {"output": 4_000_000_000, "uncached_input": 1_000_000_000}
    assert _row(statement, "priority").prices == {"uncached_input": 4_000_000_000}
    assert _row(statement, "priority", 272_000).prices == {"uncached_input": 8_000_000_000}


def test_a_lifetime_of_a_cache_write_is_no_threshold() -> None:
    statement = _read(
        m={
            "input_cost_per_token": 5e-06,
            "cache_creation_input_token_cost": 6.25e-06,
            "cache_creation_input_token_cost_above_1hr": 1e-05,
            "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 2e-05,
        }
    )
    assert _row(statement).prices["cache_write_1h"] == 10_000_000_000
    assert _row(statement, above=200_000).prices["cache_write_1h"] == 20_000_000_000


def test_a_search_is_priced_for_a_thousand_where_the_context_makes_no_difference() -> None:
    same = {"search_context_size_low": 0.01, "search_context_size_medium": 0.01, "search_context_size_high": 0.01}
    other = {**same, "search_context_size_high": 0.05}
    statement = _read(
        a={"input_cost_per_token": 1e-06, "search_context_cost_per_query": same},
        b={"input_cost_per_token": 1e-06, "search_context_cost_per_query": other},
    )
    first, second = statement.rows
    assert first.prices["web_search"] == 10_000_000_000_000  # 10 for a thousand
    assert "web_search" not in second.prices
    assert ("b", "web_search", "search_context_cost_per_query: differs by the size of the context") in (
        statement.findings.withheld
    )


@pytest.mark.parametrize(
    ("key", "value", "withheld"),
    [
        ("output_cost_per_image", 0.04, "image_output"),
        ("input_cost_per_audio_per_second", 0.001, "audio_input"),
        ("citation_cost_per_token", 2e-06, "output"),
        ("cache_read_input_image_token_cost", 1e-07, "cache_read"),
    ],
)
def test_a_key_that_no_event_carries_withholds_its_class_by_name(key: str, value: float, withheld: str) -> None:
    prices = {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "cache_read_input_token_cost": 5e-07}
    statement = _read(m={**prices, key: value})
    row = _row(statement)
    assert withheld not in row.prices
    assert withheld not in row.fallbacks
    assert ("m", withheld, key) in statement.findings.withheld
    assert statement.findings.keys[key] == 1


@pytest.mark.parametrize("key", ["tiered_pricing", "input_cost_per_query", "some_cost_nobody_knows"])
def test_a_main_meter_that_no_event_carries_leaves_the_model_without_a_row(key: str) -> None:
    statement = _read(m={"input_cost_per_token": 1e-06, key: 1e-06})
    assert statement.rows == []
    assert ("m", "*", key) in statement.findings.withheld
    assert "m" in statement.findings.models


def test_a_meter_of_its_own_is_named_and_withholds_nothing() -> None:
    statement = _read(m={"input_cost_per_token": 1e-06, "code_interpreter_cost_per_session": 0.03})
    assert _row(statement).prices == {"uncached_input": 1_000_000_000}
    assert statement.findings.keys == {"code_interpreter_cost_per_session": 1}


def test_prices_of_zero_are_told_apart() -> None:
    statement = _read(
        free={"input_cost_per_token": 0.0, "output_cost_per_token": 0}, paid={"input_cost_per_token": 1e-06}
    )
    assert statement.findings.free == {"free"}


def test_a_model_is_known_by_its_key_and_by_what_follows_its_provider_where_that_is_one_model() -> None:
    table = {
        "azure/gpt-4o": {"litellm_provider": "azure", "input_cost_per_token": 1e-06},
        "azure_ai/gpt-4o": {"litellm_provider": "azure_ai", "input_cost_per_token": 1e-06},
        "mistral/big": {"litellm_provider": "mistral", "input_cost_per_token": 1e-06},
    }
    statement = read_table(json.dumps(table).encode(), "v1")
    names = {(one.seller, one.alias): one.model for one in statement.aliases}
    assert names == {
        ("azure", "azure/gpt-4o"): "azure/gpt-4o",
        ("azure", "azure_ai/gpt-4o"): "azure_ai/gpt-4o",
        ("mistral", "big"): "mistral/big",
        ("mistral", "mistral/big"): "mistral/big",
    }
    assert statement.findings.names == {"azure/gpt-4o": "means azure/gpt-4o and azure_ai/gpt-4o"}


@pytest.mark.parametrize("written", ["NaN", "Infinity", '"1e-06"', "true", "-1e-06"])
def test_a_price_that_is_none_withholds_its_class_alone(written: str) -> None:
    content = f'{{"m": {{"litellm_provider": "x", "input_cost_per_token": {written}, "output_cost_per_token": 2e-06}}}}'
    statement = read_table(content.encode(), "v1")
    assert [row.prices for row in statement.rows] == [{"output": 2_000_000_000}]
    (found,) = statement.findings.withheld
    assert found[:2] == ("m", "uncached_input")
    assert found[2].startswith("input_cost_per_token=")


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"m": 1}'])
def test_what_is_no_such_table_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_table(content, "v1")
