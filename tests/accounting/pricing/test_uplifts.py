"""Does an uplift reach exactly the classes, region and time it names?"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.money import format_minor
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.rate import rate
from accounting.pricing.tariff import Alias, Tariff
from accounting.pricing.uplifts import Uplift, stated_uplifts, uplifted
from tests.accounting.pricing.rating import batch, list_book
from tests.shared_data import shared

MARCH, APRIL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
PRICES = {"uncached_input": 5_000_000_000, "output": 25_000_000_000, "web_search": 10_000_000_000_000}
ROWS = [
    Tariff(seller="s", model="m", prices=PRICES),
    Tariff(seller="s", model="m", prices={"output": 12_500_000_000}, service_tier="batch"),
]


def uplift(**changes: Any) -> Uplift:
    stated = {"seller": "s", "model": "m", "region": "us", "token_classes": frozenset({"uncached_input", "output"})}
    dates = {"effective_from": MARCH, "effective_until": APRIL, "checked_on": date(2026, 1, 1)}
    return Uplift(**(stated | dates | {"multiplier": "1.1", "source": "test"} | changes))


def cost(rows: list[Tariff], **event: Any) -> str:
    counts = {"uncached_input_tokens": 1_000_000, "web_search_requests": 1}
    sent = {"provider": "s", "model": "m", "at": "2026-03-10T00:00:00+00:00"} | counts | event
    return format_minor(int(rate(PriceBook(rows, [Alias("s", "m", "m", "test")]), batch([sent])).list_cost[0]))


def test_the_region_costs_more_in_the_named_classes_alone() -> None:
    rows = uplifted(ROWS, [uplift()])
    assert cost(rows, region="us") == "5.51"  # 5 x 1.1 + 0.01
    assert cost(rows, region="global") == "5.01"
    assert cost(rows) == "5.01"


def test_every_tier_has_it_and_its_dates_are_half_open() -> None:
    rows = uplifted(ROWS, [uplift()])
    counts = {"uncached_input_tokens": 0, "web_search_requests": 0, "output_tokens": 1_000_000, "region": "us"}
    assert cost(rows, service_tier="batch", **counts) == "13.75"
    assert cost(rows, at="2026-02-28T23:59:59+00:00", **counts) == "25"
    assert cost(rows, at="2026-04-01T00:00:00+00:00", **counts) == "25"


def test_the_unrounded_text_is_kept() -> None:
    row = Tariff(seller="s", model="m", prices={"output": 123_456_789})
    (_, made) = uplifted([row], [uplift(multiplier="1.15", effective_from=None, effective_until=None)])
    assert (made.prices["output"], made.price_texts["output"]) == (141_975_307, "0.14197530735")


def test_prices_that_the_source_states_for_the_region_stay() -> None:
    own = Tariff(seller="s", model="m", prices=PRICES, region="us")
    assert uplifted([*ROWS, own], [uplift()]) == [*ROWS, own]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"multiplier": "0"}, "multiplier='0'"), ({"token_classes": frozenset({"input"})}, "token_classes='input'")],
)
def test_an_uplift_that_can_not_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        uplift(**changes)


def test_us_only_inference_of_anthropic_costs_a_tenth_more() -> None:
    """Opus 4.6 in the US: 1,000 x 5.5 + 1,000 x 0.55 + 1,000 x 27.5 for a million, searches as everywhere: 0.01."""
    found = {(one.model, one.region, one.multiplier) for one in stated_uplifts()}
    assert ("claude-opus-4-6", "us", "1.1") in found
    assert ("claude-sonnet-4-5", "us", "1.1") not in found
    event = {"provider": "anthropic", "model": "claude-opus-4-6", "at": "2026-11-01T00:00:00+00:00", "region": "us"}
    event |= dict.fromkeys(("uncached_input_tokens", "cache_read_tokens", "output_tokens"), 1_000)
    out = rate(list_book(), batch([event | {"web_search_requests": 1}, event | {"region": "global"}]))
    assert [format_minor(cost) for cost in out.list_cost.tolist()] == ["0.04355", "0.0305"]


def test_residency_at_openai_costs_a_tenth_more_for_the_models_that_litellm_names() -> None:
    """GPT-5.5 in the EU: 1,000 x 5.5 + 1,000 x 33 for a million; GPT-5 is older than the uplift and costs 1.25 + 10 anywhere."""
    event = {"provider": "openai", "at": "2026-11-01T00:00:00+00:00"}
    event |= dict.fromkeys(("uncached_input_tokens", "output_tokens"), 1_000)
    new, old = event | {"model": "gpt-5.5"}, event | {"model": "gpt-5"}
    out = rate(list_book(), batch([new | {"region": "eu"}, new, old | {"region": "eu"}]))
    assert [format_minor(cost) for cost in out.list_cost.tolist()] == ["0.0385", "0.035", "0.01125"]


def test_every_uplift_of_openai_is_one_that_litellm_states_and_none_is_missing() -> None:
    table = json.loads(
        gzip.decompress(shared("litellm-prices/model_prices_before_2026-11-28_v1.110.2.json.gz").read_bytes())
    )
    listed = {row.model for row in load_list_tariffs()[0] if row.seller == "openai"}
    stated = {
        (model, region)
        for model, entry in table.items()
        for region in ("us", "eu")
        if model in listed and entry.get(f"regional_processing_uplift_multiplier_{region}") == 1.1
    }
    assert {(one.model, one.region) for one in stated_uplifts() if one.seller == "openai"} == stated


def test_a_row_that_ends_as_the_uplift_begins_has_none() -> None:
    row = Tariff(seller="s", model="m", prices=PRICES, effective_until=MARCH)
    assert uplifted([row], [uplift()]) == [row]
