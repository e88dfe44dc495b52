"""Does every key of LiteLLM's eleven tables that changes a price do so, or is it named?"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from accounting.pricing.sources.keys import uses
from accounting.pricing.sources.litellm import parts, read_table
from accounting.pricing.sources.litellm_multipliers import NESTED, conditions
from accounting.pricing.sources.statement import Statement
from tests.shared_data import shared

PLAIN: dict[str, Any] = {
    "litellm_provider": "anthropic",
    "input_cost_per_token": 5e-06,
    "output_cost_per_token": 25e-06,
}
NO_PRICE = {"metadata", "rules", "token_count_model", "search_context_cost_per_query", NESTED}
"""Keys with objects in them that are no price, or are read by a rule of their own."""


def _read(**keys: Any) -> Statement:
    return read_table(json.dumps({"m": PLAIN | keys}).encode(), "v1")


def _prices(statement: Statement) -> dict[tuple[str, str | None, int], tuple[int, int]]:
    return {
        (row.service_tier, row.region, row.above_input_tokens): (row.prices["uncached_input"], row.prices["output"])
        for row in statement.rows
    }


def test_inference_in_the_us_and_fast_serving_multiply_and_both_together_do() -> None:
    """5 and 25: in the US 5.5 and 27.5, fast 30 and 150, fast in the US 33 and 165."""
    assert _prices(_read(provider_specific_entry={"us": 1.1, "fast": 6.0})) == {
        ("default", None, 0): (5_000_000_000, 25_000_000_000),
        ("default", "us", 0): (5_500_000_000, 27_500_000_000),
        ("fast", None, 0): (30_000_000_000, 150_000_000_000),
        ("fast", "us", 0): (33_000_000_000, 165_000_000_000),
    }


def test_fast_serving_is_made_of_the_default_tier_alone() -> None:
    found = _prices(
        _read(
            input_cost_per_token_batches=2.5e-06,
            output_cost_per_token_batches=12.5e-06,
            provider_specific_entry={"fast": 6},
        )
    )
    assert found["fast", None, 0] == (30_000_000_000, 150_000_000_000)
    rows = _read(input_cost_per_token_batches=2.5e-06, provider_specific_entry={"fast": 6}).rows
    assert sorted(row.service_tier for row in rows) == ["batch", "default", "fast"]


def test_regional_processing_multiplies_every_tier_and_threshold_and_no_search() -> None:
    search = {"search_context_size_low": 0.01, "search_context_size_medium": 0.01, "search_context_size_high": 0.01}
    statement = _read(
        input_cost_per_token_above_200k_tokens=10e-06,
        input_cost_per_token_batches=2.5e-06,
        output_cost_per_token_batches=12.5e-06,
        search_context_cost_per_query=search,
        regional_processing_uplift_multiplier_eu=1.1,
    )
    found = _prices(statement)
    assert found["default", "eu", 0] == (5_500_000_000, 27_500_000_000)
    assert found["default", "eu", 200_000] == (11_000_000_000, 27_500_000_000)
    assert found["batch", "eu", 0] == (2_750_000_000, 13_750_000_000)
    assert {row.prices["web_search"] for row in statement.rows if row.service_tier == "default"} == {10_000_000_000_000}
    assert len(found) == 6


def test_a_multiplier_keeps_its_exact_text_and_one_of_1_makes_no_row() -> None:
    (_, us) = _read(provider_specific_entry={"us": 1.1}).rows
    assert us.price_texts == {"output": "27.5", "uncached_input": "5.5"}
    assert len(_read(provider_specific_entry={"us": 1}).rows) == 1


def test_a_condition_that_nobody_looked_at_leaves_the_model_without_a_price() -> None:
    statement = _read(provider_specific_entry={"us": 1.1, "weekend": 0.5})
    assert statement.rows == []
    assert statement.findings.models == {"m": "provider_specific_entry.weekend may change its prices"}
    assert statement.findings.withheld == {("m", "*", "provider_specific_entry.weekend")}


@pytest.mark.parametrize("factor", ["1.1", 0, -1, True])
def test_a_factor_that_is_none_leaves_its_model_without_a_price_and_no_other(factor: object) -> None:
    table = {"bad": PLAIN | {"provider_specific_entry": {"us": factor}}, "good": PLAIN}
    statement = read_table(json.dumps(table).encode(), "v1")
    assert [row.model for row in statement.rows] == ["good"]
    why = f"provider_specific_entry.us={factor!r}: a factor above 0 is expected"
    assert statement.findings.models == {"bad": why}
    assert statement.findings.withheld == {("bad", "*", why)}


def test_a_tier_of_decisions_is_a_tier_and_costs_the_default_nothing() -> None:
    found = _prices(_read(input_cost_per_token_decisions=1e-07, output_cost_per_token_decisions=0.0))
    assert found == {
        ("default", None, 0): (5_000_000_000, 25_000_000_000),
        ("decisions", None, 0): (100_000_000, 0),
    }


def test_searches_that_are_free_up_to_a_count_are_named() -> None:
    statement = _read(search_free_requests={"count": 1500, "period": "day", "shared_group": "g"})
    assert statement.findings.keys == {"search_free_requests": 1}


def test_a_router_whose_row_is_its_own_fee_alone_has_no_price() -> None:
    router = {"litellm_provider": "azure", "input_cost_per_token": 1.4e-07, "output_cost_per_token": 0}
    statement = read_table(json.dumps({"azure/model-router": router}).encode(), "v1")
    assert statement.rows == []
    assert statement.findings.models["azure/model-router"].startswith("the router's own fee alone")


def test_no_key_of_the_eleven_tables_changes_a_price_unseen() -> None:
    priced, nested, objects = set(), set(), set()
    for key, value in _stated():
        base = parts(key).base
        if any(word in key for word in ("cost", "pricing", "multiplier")):
            priced.add(base)
        elif base not in uses("litellm") and (isinstance(value, dict) or _objects(value)):
            objects.add(key)
        if key == NESTED:
            nested |= {f"{NESTED}.{name}" for name in value}
    assert sorted(priced - uses("litellm").keys() - {"search_context_cost_per_query"}) == []
    assert sorted(nested - conditions().keys()) == []
    assert sorted(objects - NO_PRICE) == []
    assert (len(priced), len(nested)) == (72, 9)


def _stated() -> Iterator[tuple[str, Any]]:
    for path in sorted(shared("litellm-prices").glob("model_prices_before_*.json.gz")):
        for model, entry in json.loads(gzip.decompress(path.read_bytes())).items():
            if model != "sample_spec" and isinstance(entry, dict):
                yield from entry.items()


def _objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)
