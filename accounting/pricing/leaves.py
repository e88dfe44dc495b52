"""How do the counts of an event come apart into disjoint priced classes?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounting.usage.classes import CACHE_WRITES, PARTS, USAGE_COLUMNS

CLASS_OF_COLUMN = {name: name.removesuffix("_tokens").removesuffix("_requests") for name in USAGE_COLUMNS}
"""Usage column -> the priced class of its own tokens or units."""

INPUT_COLUMNS = ("uncached_input_tokens", "cache_read_tokens", *CACHE_WRITES)
"""Disjoint columns that add up to the total input, which decides long-context prices."""

WHOLE_COLUMNS = (*INPUT_COLUMNS, "output_tokens")
UNIT_COLUMNS = ("web_search_requests", "web_fetch_requests")
WHOLE_OF = {part: whole for whole, parts in PARTS.items() for part in parts}


def leaf_quantities(quantities: Mapping[str, Any], reasoning_apart: Any, requests_priced: Any) -> dict[str, Any]:
    """Quantity of each priced class, every token in one class only; negative where parts exceed their whole.

    Works on integers of one event as well as on int64 arrays of many.

    Args:
        quantities: usage column -> count; an absent column is 0.
        reasoning_apart: bool, where reasoning has a price of its own and so leaves output; elsewhere it stays a memo inside.
        requests_priced: bool, where a request costs something by itself; every event is one.
    """
    leaves = {token_class: quantities.get(column, 0) for column, token_class in CLASS_OF_COLUMN.items()}
    for whole, parts in PARTS.items():
        for part in parts:
            leaves[CLASS_OF_COLUMN[whole]] = leaves[CLASS_OF_COLUMN[whole]] - quantities.get(part, 0)
    leaves["reasoning"] = leaves["reasoning"] * reasoning_apart
    leaves["output"] = leaves["output"] - leaves["reasoning"]
    leaves["requests"] = requests_priced * 1
    return leaves
