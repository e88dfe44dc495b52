"""A second rater, slow and plain: one event at a time, in Decimal, straight from the definition of a tariff."""

from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from accounting.pricing.contract import PriceRule
from accounting.pricing.tariff import Tariff
from tests.accounting.pricing.naive_rules import PLACE, applies, prices

WRITES = [f"cache_write{life}" for life in ("_5m", "_1h", "_30m", "_12h", "")]
MEDIA = ["audio_input", "audio_cache_read", "audio_output", "image_input", "image_output", "video_input"]


def naive_cost(rows: Sequence[Tariff], event: dict[str, Any], rules: Sequence[PriceRule] = ()) -> Decimal | str:
    """Cost in currency units, or the reason there is none. Rules apply to list rows; the event's `at` is a datetime."""
    same = [row for row in rows if row.model == event["model"]]
    tier = [row for row in same if row.service_tier == event["tier"]]
    place = {
        name: event.get(name) if event.get(name) in {getattr(row, name) for row in tier} else None for name in PLACE
    }
    on = [row for row in tier if row.surface in (None, place["surface"])]
    fits = [row for row in on if row.region in (None, place["region"])]
    valid = [row for row in fits if in_force(row, event["at"])]
    for found, reason in [(same, "unknown_model"), (tier, "no_price_for_tier"), (on, "no_price_for_surface")]:
        if not found:
            return reason
    if not fits or not valid:
        return "no_price_in_force" if fits else "no_price_for_region"
    closest = min(map(distance, valid))
    n = {
        name: int(event.get(f"{name}_tokens", 0))
        for name in ("uncached_input", "cache_read", "output", *WRITES, *MEDIA)
    }
    n |= {name: int(event.get(f"{name}_requests", 0)) for name in ("web_search", "web_fetch")}
    total, reasoning = (
        n["uncached_input"] + n["cache_read"] + sum(n[name] for name in WRITES),
        event.get("reasoning_tokens", 0),
    )
    decides = {
        "total_input": total,
        "uncached_input": n["uncached_input"],
        "output": n["output"],
        "total": total + n["output"],
    }
    reached = [row for row in valid if distance(row) == closest and max(decides[row.decided_by], 0) >= least(row)]
    row = max(reached, key=least)
    price = prices(row, [rule for rule in rules if row.tenant is None and applies(rule, row, event)])
    n["uncached_input"] -= n["audio_input"] + n["image_input"] + n["video_input"]
    n["cache_read"] -= n["audio_cache_read"]
    n["output"] -= n["audio_output"] + n["image_output"] + (reasoning if "reasoning" in price else 0)
    n |= {"reasoning": reasoning} if "reasoning" in price else {}
    n |= {"requests": 1} if price.get("requests") else {}
    if min(*n.values(), reasoning) < 0 or reasoning > event.get("output_tokens", 0):
        return "inconsistent"
    if any(count and name not in price for name, count in n.items()):
        return "no_price_for_class"
    cost = sum((count * price[name] for name, count in n.items() if count), Decimal(0))
    return "over_limit" if cost > 9_000 else cost


def least(row: Tariff) -> int:
    return row.above_input_tokens + (row.operator == ">") if row.above_input_tokens else 0


def distance(row: Tariff) -> tuple[bool, int]:
    return row.tenant is None, 2 * (row.surface is None) + (row.region is None)


def in_force(row: Tariff, at: datetime) -> bool:
    day, start, end = at.time(), row.window_start or time(0), row.window_end or time(0)
    if (row.effective_from and at < row.effective_from) or (row.effective_until and at >= row.effective_until):
        return False
    return row.window_start is None or (start <= day < end if start < end else day >= start or day < end)
