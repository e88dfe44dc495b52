"""Which rows do the multipliers of LiteLLM's table come to? A factor on every token price, for a region or for fast serving.

They stand beside the prices (`regional_processing_uplift_multiplier_us`) or in `provider_specific_entry` (`us`, `fast`), where what
is no multiplier stands too. A condition that nobody looked at may change prices, so it leaves the model without any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

from accounting.errors import InvalidInput
from accounting.money import format_plain
from accounting.pricing.sources.keys import read
from accounting.pricing.tariff import DEFAULT_TIER, Tariff
from accounting.pricing.uplifts import TOKEN_CLASSES, Uplift, multiplied_prices, uplifted

NESTED = "provider_specific_entry"
"""Key whose object holds multipliers of one provider, among other things."""


@cache
def conditions() -> Mapping[str, tuple[str, str]]:
    """Key -> the condition that it multiplies prices for, and that condition's value; `none` where it changes no token price."""
    return {row["key"]: (row["condition"], row["value"]) for row in read("litellm_multipliers.csv")}


def unknown_conditions(entry: Mapping[str, Any]) -> list[str]:
    """Keys of the nested object that stand in no table of ours."""
    return sorted(key for key, _ in _nested(entry) if key not in conditions())


def multiplied(rows: Sequence[Tariff], entry: Mapping[str, Any]) -> list[Tariff]:
    """The rows of one model, the fast ones made of its default tier, then those of its regions at every tier.

    Raises InvalidInput that names the model's factor where it is no number above 0.
    """
    stated = [*((key, value) for key, value in entry.items() if key in conditions()), *_nested(entry)]
    factors = {(*conditions()[key], _factor(key, value)) for key, value in stated if conditions()[key][0] != "none"}
    made = list(rows)
    for condition, tier, factor in sorted(factors):
        if condition == "service_tier":
            made += [_at_tier(row, tier, factor) for row in rows if row.service_tier == DEFAULT_TIER]
    if not rows:
        return made
    uplifts = [
        Uplift(rows[0].seller, rows[0].model, region, TOKEN_CLASSES, factor, None, None, rows[0].source, None)
        for condition, region, factor in sorted(factors)
        if condition == "region" and Decimal(factor) != 1
    ]
    return uplifted(made, uplifts)


def _nested(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    held = entry.get(NESTED)
    if isinstance(held, dict):
        yield from ((f"{NESTED}.{key}", value) for key, value in held.items())


def _factor(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, Decimal | int) or value <= 0:
        raise InvalidInput(key, value, "a factor above 0 is expected")
    return format_plain(Decimal(value))


def _at_tier(row: Tariff, tier: str, factor: str) -> Tariff:
    prices, texts = multiplied_prices(row, TOKEN_CLASSES, factor)
    return replace(row, service_tier=tier, prices=prices, price_texts=texts)
