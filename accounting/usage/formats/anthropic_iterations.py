"""Which iterations of an Anthropic message are in its top-level counts, and which are billed beside them?

Beside them, as calls of their own: `compaction-N`, `advisor-N` under the advisor's model, and `declined-N`, an attempt that gave
output before a fallback model took over; without output it is not billed. Source: platform.claude.com, pages Compaction, Advisor
tool, Refusals and fallback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from accounting.usage.formats.counts import optional_count
from accounting.usage.wire import Body


def sort_iterations(iterations: list[Body], kept: Mapping[str, Any]) -> tuple[list[Body], list[tuple[str, Body]], int]:
    """Iterations of the served model, those billed beside it by part, and how many are of a kind that no rule knows."""
    fallbacks = [item for item in iterations if item.get("type") == "fallback_message"]
    served: list[Body] = []
    others: list[tuple[str, Body]] = []
    unknown = 0
    seen: Counter[str] = Counter()
    for item in iterations:
        kind = str(item.get("type"))
        if kind in ("message", "fallback_message"):
            if not fallbacks or item.get("model") == fallbacks[-1].get("model"):
                served.append(item)
                continue
            part = "declined"
            if not optional_count(item, "output_tokens", kept):
                continue
        elif kind in ("compaction", "advisor_message"):
            part = kind.removesuffix("_message")
        else:
            unknown += 1
            continue
        seen[part] += 1
        others.append((f"{part}-{seen[part]}", item))
    return served, others, unknown
