"""Does a cost agree with `genai_prices.calc_price` on every model it knows, at many dates?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from genai_prices.data import providers
from genai_prices.types import ModelInfo, Provider, Usage

from accounting.money import from_minor
from accounting.pricing.genai_prices_source import list_price_book, load_list_tariffs
from accounting.pricing.rate import rate
from accounting.pricing.reasons import PRICED
from tests.accounting.pricing.rating import batch

FIRST = datetime(2025, 1, 1, tzinfo=UTC)
TIERS: dict[str, list[dict[str, str]]] = {
    "default": [{}, {"service_tier": "default"}],
    "batch": [{"processing": "batch"}],
    "flex": [{"service_tier": "flex"}],
    "priority": [{"service_tier": "priority"}],
    "fast": [{"service_tier": "fast", "speed": "fast"}],
}
DATES = 14


def usage(random: Random, model: ModelInfo) -> tuple[dict[str, int], Usage]:
    """Our columns and their sets within sets, of what every text model counts, and searches where the model has a price."""
    most = random.choice([100, 50_000, 400_000])
    uncached, read, written, hour = (random.randint(0, most) for _ in range(4))
    output, reasoning = random.randint(1, most), random.randint(0, 1)
    ours = {
        "uncached_input_tokens": uncached,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "cache_write_1h_tokens": hour,
        "output_tokens": output,
        "reasoning_tokens": reasoning,
    }
    theirs = {
        "input_tokens": uncached + read + written + hour,
        "cache_read_tokens": read,
        "cache_write_tokens": written + hour,
        "cache_write_1h_tokens": hour,
        "output_tokens": output,
        "output_reasoning_tokens": reasoning,
    }
    if "web_searches_kcount" in repr(model.prices):
        ours["web_search_requests"] = theirs["web_searches"] = random.randint(0, 5)
    return ours, Usage(**theirs)


def cases() -> list[tuple[Provider, ModelInfo, dict[str, Any], Usage, dict[str, str]]]:
    random = Random(7)
    names = {(one.seller, one.model): one.alias for one in load_list_tariffs()[1]}
    found = []
    for provider in providers:
        for model in provider.models:
            tiers = TIERS if model.price_variants else {"default": [{}]}
            for tier, contexts in tiers.items():
                for _ in range(DATES if tier != "default" or isinstance(model.prices, list) else 1):
                    ours, theirs = usage(random, model)
                    at = FIRST + timedelta(seconds=random.randint(0, 700 * 86_400))
                    where = {
                        "provider": provider.id,
                        "model": names[provider.id, model.id],
                        "service_tier": tier,
                        "at": at,
                    }
                    found.append((provider, model, where | ours, theirs, random.choice(contexts)))
    return found


def test_every_priced_event_costs_what_calc_price_says() -> None:
    tried = cases()
    out = rate(list_price_book(), batch([event for _, _, event, _, _ in tried]))
    noisy = {(seller, model) for seller, model, _, _ in load_list_tariffs()[2].findings.normalised}
    differing, compared = [], 0
    for (provider, model, event, theirs, context), cost, reason in zip(
        tried, out.list_cost.tolist(), out.reason, strict=True
    ):
        if reason != PRICED or (provider.id, model.id) in noisy:
            continue
        price = model.calc_price(
            theirs, provider, genai_request_timestamp=event["at"], price_context=context
        ).total_price
        compared += 1
        if from_minor(cost) != price:
            differing.append((provider.id, event["model"], event["service_tier"], event["at"], from_minor(cost), price))
    assert differing == []
    assert compared > 5_000
