"""What does one more token in a usage column cost at each position?

A part is counted inside its whole too (`audio_input_tokens` inside `uncached_input_tokens`), so that it adds the difference of
the two prices. The sum over columns then equals the sum over disjoint classes, without first computing those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accounting.pricing.layout import NEVER, Flags, Ints, Positions
from accounting.pricing.leaves import CLASS_OF_COLUMN, WHOLE_COLUMNS, WHOLE_OF
from accounting.usage.classes import PARTS

REASONING_APART = 1
REQUESTS_PRICED = 2
LACKS_WHOLE = 4
HAS_THRESHOLDS = 8
DECIDED_APART = 16
"""Thresholds on other tokens than the total input."""


@dataclass(frozen=True)
class Marginal:
    """Arrays by position, for whole chunks of events.

    Attributes:
        price: usage column -> signed price of one more token or unit.
        highest: whole or unit column -> the highest price of any token in it, at any position: bounds a cost from above.
        highest_request: the highest price of a request by itself.
        traits: bits of rare features, so that most chunks are done with them after one look.
    """

    price: dict[str, Ints]
    highest: dict[str, int]
    highest_request: int
    traits: npt.NDArray[np.uint8]


def marginal_prices(prices: Mapping[str, Ints], missing: Mapping[str, Flags], positions: Positions) -> Marginal:
    """Marginal prices of a book's positions."""
    apart = ~missing["reasoning"] & (positions.row_at >= 0)
    price: dict[str, Ints] = {}
    highest: dict[str, int] = {}
    for column, token_class in CLASS_OF_COLUMN.items():
        own = prices[token_class]
        if column == "reasoning_tokens":
            price[column] = np.where(apart, own - prices["output"], 0)
        elif column in WHOLE_OF:
            price[column] = own - prices[CLASS_OF_COLUMN[WHOLE_OF[column]]]
        else:
            price[column] = own
            inside = [token_class, *(CLASS_OF_COLUMN[part] for part in PARTS.get(column, ()))]
            inside += ["reasoning"] if column == "output_tokens" else []
            highest[column] = max(int(prices[name].max(initial=0)) for name in inside)
    lacking = np.logical_or.reduce([missing[CLASS_OF_COLUMN[column]] for column in WHOLE_COLUMNS])
    traits = apart * REASONING_APART + (prices["requests"] > 0) * REQUESTS_PRICED + lacking * LACKS_WHOLE
    split = np.min(positions.thresholds, axis=0, initial=NEVER) < NEVER
    traits += split * np.where(positions.decider == 0, HAS_THRESHOLDS, DECIDED_APART)
    return Marginal(price, highest, int(prices["requests"].max(initial=0)), traits.astype(np.uint8))
