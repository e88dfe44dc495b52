"""Does a cost agree with `genai_prices.calc_price` on every model, tier and class it knows, at 20 random dates?

The rows come from that package, so this is about rating: names, dates, tiers, thresholds, classes and sums. Where we give no price and it
does, the reason is one of `OURS_IS_SILENT`; where both do, the amounts are equal to the last digit but for `NOISE`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import pytest
from genai_prices.data import providers
from genai_prices.types import ModelInfo, ModelPrice, Provider, Usage

from accounting.money import from_minor
from accounting.pricing.genai_prices_keys import CLASS_OF_KEY
from accounting.pricing.genai_prices_source import list_price_book, load_list_tariffs
from accounting.pricing.rate import rate
from accounting.pricing.reasons import PRICED, REASONS
from tests.accounting.pricing.rating import batch

FIRST = datetime(2025, 1, 1, tzinfo=UTC)
DATES = 20
TIERS: dict[str, list[dict[str, str]]] = {
    "default": [{}, {"service_tier": "default"}],
    "batch": [{"processing": "batch"}],
    "flex": [{"service_tier": "flex"}],
    "priority": [{"service_tier": "priority"}],
    "fast": [{"service_tier": "fast", "speed": "fast"}],
}
OURS_IS_SILENT = {
    "no_token_price": "priced only in units that no event carries (hours, pages, characters), or without any price",
    "no_price_for_tier": "no price for the tier: calc_price takes the standard one for a context it does not know",
    "no_price_in_force": "no price of the tier at that date: calc_price takes the standard one, or the first it knows",
    "no_price_for_class": "a price of more than 9 decimals, or one of a part that no event tells apart",
}
NOISE = Decimal("1e-9")
"""Prices written as 0.18000000000000002 are 0.18 here."""

PARTS = {  # Our column -> its whole, the key that prices it, and what calc_price calls it.
    "audio_input_tokens": ("uncached_input_tokens", "input_audio_mtok", "input_audio_tokens"),
    "image_input_tokens": ("uncached_input_tokens", "input_image_mtok", "input_image_tokens"),
    "video_input_tokens": ("uncached_input_tokens", "input_video_mtok", "input_video_tokens"),
    "audio_cache_read_tokens": ("cache_read_tokens", "cache_audio_read_mtok", "cache_audio_read_tokens"),
    "audio_output_tokens": ("output_tokens", "output_audio_mtok", "output_audio_tokens"),
    "image_output_tokens": ("output_tokens", "output_image_mtok", "output_image_tokens"),
    "reasoning_tokens": ("output_tokens", "output_reasoning_mtok", "output_reasoning_tokens"),
}


@dataclass(frozen=True)
class Case:
    provider: Provider
    model: ModelInfo
    event: dict[str, Any]
    usage: dict[str, int]
    context: dict[str, str]

    def cost(self) -> Decimal:
        return self.model.calc_price(
            Usage(**self.usage), self.provider, genai_request_timestamp=self.event["at"], price_context=self.context
        ).total_price


def keys(model: ModelInfo) -> set[str]:
    """Keys for which the model has a price at some time, in some tier."""
    entries = model.prices if isinstance(model.prices, list) else []
    prices = [model.prices] if isinstance(model.prices, ModelPrice) else [entry.prices for entry in entries]
    prices += [variant.prices for variant in model.price_variants or []]
    return {key for one in prices for key, value in vars(one).items() if value is not None}


def usage(random: Random, priced: set[str], stated: set[str]) -> tuple[dict[str, int], dict[str, int]]:
    """Our columns and their sets within sets, with counts for the keys `priced` of the keys that the model states."""
    most = random.choice([100, 50_000, 400_000])

    def some(key: str) -> int:
        return random.randint(0, most) if key in priced else 0

    ours = {
        "uncached_input_tokens": some("input_mtok"),
        "cache_read_tokens": some("cache_read_mtok"),
        "cache_write_tokens": some("cache_write_mtok"),
        "cache_write_1h_tokens": some("cache_write_1h_mtok"),
        "output_tokens": some("output_mtok"),
    }
    theirs = {
        "input_tokens": sum(ours.values()) - ours["output_tokens"],
        "cache_read_tokens": ours["cache_read_tokens"],
        "cache_write_tokens": ours["cache_write_tokens"] + ours["cache_write_1h_tokens"],
        "cache_write_1h_tokens": ours["cache_write_1h_tokens"],
        "output_tokens": ours["output_tokens"],
    }
    for column, (whole, key, name) in PARTS.items():
        count = some(key)
        ours[column] = theirs[name] = count
        ours[whole] += count
        theirs["output_tokens" if whole == "output_tokens" else "input_tokens"] += count
    theirs["cache_read_tokens"] += ours["audio_cache_read_tokens"]
    theirs["input_audio_tokens"] += ours["audio_cache_read_tokens"]
    ours["web_search_requests"] = theirs["web_searches"] = random.randint(0, 5) * ("web_searches_kcount" in priced)
    known = {name for _, key, name in PARTS.values() if key in stated}  # It asks for a 0 where sets overlap.
    told = {name: count for name, count in theirs.items() if count or name in known}
    return ours, told | ({"cache_image_read_tokens": 0} if "cache_image_read_mtok" in stated else {})


def case(random: Random, provider: Provider, model: ModelInfo, tier: str, priced: set[str]) -> Case:
    """Some usage of the priced keys at a random date."""
    at = FIRST + timedelta(seconds=random.randint(0, 700 * 86_400))
    ours, theirs = usage(random, priced, keys(model))
    where = {"provider": provider.id, "model": names()[provider.id, model.id], "service_tier": tier}
    return Case(
        provider, model, where | {"at": at} | ours, theirs, random.choice(TIERS[tier] if tier != "default" else [{}])
    )


@cache
def names() -> dict[tuple[str, str], str]:
    return {(one.seller, one.model): one.alias for one in load_list_tariffs()[1]}


def every_tier(dates_of_one_price: int) -> list[Case]:
    """All classes of every model and tier at 20 dates; where one price is for all time, at `dates_of_one_price`."""
    random = Random(7)
    found = []
    for provider in providers:
        for model in provider.models:
            for tier in TIERS if model.price_variants else ["default"]:
                dated = tier != "default" or isinstance(model.prices, list)
                for _ in range(DATES if dated else dates_of_one_price):
                    found.append(case(random, provider, model, tier, keys(model)))
    return found


def every_class(dates: int) -> list[Case]:
    """Every class of every model by itself, at the standard tier, at so many dates."""
    random = Random(8)
    return [
        case(random, provider, model, "default", {key})
        for provider in providers
        for model in provider.models
        for key in sorted(keys(model) & CLASS_OF_KEY.keys())
        for _ in range(dates)
    ]


def compare(tried: list[Case]) -> tuple[Counter[str], list[tuple[Any, ...]]]:
    """Outcomes counted, and every case where both give a price and the two differ by more than noise."""
    out = rate(list_price_book(), batch([case.event for case in tried]))
    outcomes: Counter[str] = Counter()
    differing = []
    for case, cost, code in zip(tried, out.list_cost.tolist(), out.reason.tolist(), strict=True):
        theirs = case.cost()
        if code != PRICED:
            reason = REASONS[code].split(":")[0]
            outcomes[reason if theirs else "neither"] += 1
            continue
        ours = from_minor(cost)
        outcomes["equal" if ours == theirs else "noise"] += 1
        if abs(ours - theirs) > NOISE * theirs:
            differing.append((case.provider.id, case.event, ours, theirs))
    return outcomes, differing


def check(tried: list[Case]) -> Counter[str]:
    outcomes, differing = compare(tried)
    assert differing == []
    assert outcomes.keys() <= {"equal", "noise", "neither", *OURS_IS_SILENT}
    return outcomes


def check_classes(tried: list[Case]) -> None:
    """At most one in a hundred differs, all of them for a reason listed, and of those hardly any that could be priced."""
    outcomes = check(tried)
    silent = sum(count for name, count in outcomes.items() if name in OURS_IS_SILENT)
    assert silent + outcomes["noise"] <= len(tried) / 100
    assert outcomes["equal"] > 0.9 * len(tried)


def test_every_model_and_tier_costs_what_calc_price_says() -> None:
    assert check(every_tier(1))["equal"] > 6_000


def test_every_class_of_every_model_costs_what_calc_price_says() -> None:
    check_classes(every_class(1))


@pytest.mark.slow
def test_every_model_and_tier_at_twenty_dates_costs_what_calc_price_says() -> None:
    assert check(every_tier(DATES))["equal"] > 40_000


@pytest.mark.slow
def test_every_class_of_every_model_at_twenty_dates_costs_what_calc_price_says() -> None:
    check_classes(every_class(DATES))
