"""A second rater, slow and plain: one event at a time, in Decimal, straight from the definition of a tariff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from accounting.pricing.tariff import Tariff

TOTAL_INPUT = [
    "uncached_input_tokens",
    "cache_read_tokens",
    *(f"cache_write{life}_tokens" for life in ("_5m", "_1h", "_30m", "_12h", "")),
]


def naive_cost(rows: Sequence[Tariff], event: Mapping[str, Any]) -> Decimal | str:
    """Cost in currency units, or the reason there is none. The event has the row's seller and model, and a datetime `at`."""
    same = [row for row in rows if row.model == event["model"]]
    if not same:
        return "unknown_model"
    same = [row for row in same if row.service_tier == event["tier"]]
    if not same:
        return "no_price_for_tier"
    valid = [row for row in same if in_force(row, event["at"])]
    if not valid:
        return "no_price_in_force"

    def count(name: str) -> int:
        return int(event.get(name, 0))

    total = sum(count(name) for name in TOTAL_INPUT)
    reached = [
        row
        for row in valid
        if row.above_input_tokens == 0
        or total > row.above_input_tokens
        or (row.operator == ">=" and total == row.above_input_tokens)
    ]
    row = max(reached, key=lambda one: (one.above_input_tokens, one.operator == ">"))
    leaves = {
        "uncached_input": count("uncached_input_tokens")
        - count("audio_input_tokens")
        - count("image_input_tokens")
        - count("video_input_tokens"),
        "cache_read": count("cache_read_tokens") - count("audio_cache_read_tokens"),
        "output": count("output_tokens") - count("audio_output_tokens") - count("image_output_tokens"),
        "web_search": count("web_search_requests"),
        "web_fetch": count("web_fetch_requests"),
    }
    for name in ("cache_write_5m", "cache_write_1h", "cache_write_30m", "cache_write_12h", "cache_write"):
        leaves[name] = count(f"{name}_tokens")
    for name in ("audio_input", "audio_cache_read", "audio_output", "image_input", "image_output", "video_input"):
        leaves[name] = count(f"{name}_tokens")
    if "reasoning" in row.prices:
        leaves["reasoning"] = count("reasoning_tokens")
        leaves["output"] -= count("reasoning_tokens")
    if row.prices.get("requests"):
        leaves["requests"] = 1
    if min(*leaves.values(), count("reasoning_tokens")) < 0 or count("reasoning_tokens") > count("output_tokens"):
        return "inconsistent"
    if any(n and row.fallbacks.get(name, name) not in row.prices for name, n in leaves.items()):
        return "no_price_for_class"
    cost = sum(Decimal(n) * row.prices[row.fallbacks.get(name, name)] for name, n in leaves.items() if n)
    return "over_limit" if cost > 9_000 * Decimal(10) ** 15 else cost.scaleb(-15) if cost else Decimal(0)


def in_force(row: Tariff, at: datetime) -> bool:
    if row.effective_from is not None and at < row.effective_from:
        return False
    if row.effective_until is not None and at >= row.effective_until:
        return False
    if row.window_start is None or row.window_end is None:
        return True
    day, start, end = at.time(), row.window_start, row.window_end
    return start <= day < end if start < end else day >= start or day < end
