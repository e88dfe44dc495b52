"""What does Langfuse's table state, and which of its names are exact?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounting.pricing.sources.langfuse import read_table
from accounting.pricing.sources.statement import Statement
from tests.shared_data import shared


def _read(*models: dict[str, Any]) -> Statement:
    return read_table(json.dumps(models).encode(), "c1")


def _model(name: str, pattern: str, *tiers: dict[str, Any]) -> dict[str, Any]:
    return {"modelName": name, "matchPattern": pattern, "pricingTiers": list(tiers)}


def _tier(prices: dict[str, float], *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"name": "t", "isDefault": not conditions, "conditions": list(conditions), "prices": prices}


def test_several_keys_of_one_price_are_one_class() -> None:
    prices = {"input": 2.5e-06, "input_cached_tokens": 1.25e-06, "cache_read_input_tokens": 1.25e-06, "output": 1e-05}
    (row,) = _read(_model("gpt-4o", "(?i)^(openai/)?(gpt-4o)$", _tier(prices))).rows
    assert row.prices == {"cache_read": 1_250_000_000, "output": 10_000_000_000, "uncached_input": 2_500_000_000}
    assert (row.seller, row.model) == ("openai", "gpt-4o")


def test_two_keys_of_one_class_that_differ_leave_it_without_a_price() -> None:
    prices = {"input": 2e-06, "output": 8e-06, "input_cached_tokens": 1e-06, "cache_read_input_tokens": 5e-07}
    statement = _read(_model("m", "(?i)^(openai/)?(m)$", _tier(prices)))
    assert "cache_read" not in statement.rows[0].prices
    assert ("m", "cache_read", "cache_read_input_tokens=0.5: another key states 1") in statement.findings.withheld


def test_a_service_tier_and_a_threshold_are_conditions_of_rows() -> None:
    fast = {"source": "model_parameters", "key": "service_tier", "operator": "in", "values": ["fast", "priority"]}
    above = {"usageDetailPattern": "(input)", "operator": "gt", "value": 272000}
    tiers = (_tier({"input": 1e-06}), _tier({"input": 2e-06}, fast), _tier({"input": 3e-06}, above))
    rows = _read(_model("m", "(?i)^(openai/)?(m)$", *tiers)).rows
    assert [(row.service_tier, row.above_input_tokens, row.prices["uncached_input"]) for row in rows] == [
        ("default", 0, 1_000_000_000),
        ("fast", 0, 2_000_000_000),
        ("priority", 0, 2_000_000_000),
        ("default", 272_000, 3_000_000_000),
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("(?i)^(openai/)?(gpt-5.5(-2026-04-23)?)$", ["gpt-5.5-2026-04-23"]),
        ("(?i)^(openai\\/)?(gpt-5.4-mini)$", ["gpt-5.4-mini", "gpt-5.5-2026-04-23"]),
    ],
)
def test_only_names_that_a_pattern_spells_out_are_taken(pattern: str, names: list[str]) -> None:
    statement = _read(_model("gpt-5.5-2026-04-23", pattern, _tier({"input": 1e-06})))
    assert [one.alias for one in statement.aliases] == names


def test_a_model_whose_seller_no_pattern_names_is_left_by_name() -> None:
    statement = _read(_model("chat-bison", "(?i)^(chat-bison)(@[a-zA-Z0-9]+)?$", _tier({"input": 1e-06})))
    assert (statement.rows, statement.findings.models) == ([], {"chat-bison": "its seller is not stated"})


def test_the_table_of_the_shared_data_is_read() -> None:
    statement = read_table(shared("langfuse/default-model-prices.json").read_bytes(), "6275144")
    luna = {
        (row.service_tier, row.above_input_tokens): row.prices["uncached_input"]
        for row in statement.rows
        if row.model == "gpt-4o"
    }
    assert luna == {("default", 0): 2_500_000_000, ("fast", 0): 4_250_000_000, ("priority", 0): 4_250_000_000}
    assert len({row.model for row in statement.rows}) == 138
