"""Which events cost more than an int64 of 10^-15 currency units can hold? Decided with certainty, mostly without looking."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from accounting.money import EVENT_LIMIT
from accounting.pricing.layout import Ints
from accounting.pricing.marginal import Marginal

_SURELY_BELOW = 0.99 * EVENT_LIMIT


def may_exceed(marginal: Marginal, largest: Mapping[str, int]) -> bool:
    """False where no event of a chunk can be over the limit: its largest counts at the book's highest prices are not."""
    bound = sum(marginal.highest.get(column, 0) * count for column, count in largest.items())
    return marginal.highest_request + bound > EVENT_LIMIT


def over_limit(prices: Mapping[str, Ints], position: Ints, leaves: Mapping[str, Ints | int]) -> Ints:
    """Places of events above the limit; an event at the limit is allowed.

    Costs are summed in float64 from parts that are not negative, so that the error is below one part in 10^13; what comes near
    the limit is worked out in whole numbers of any size.
    """
    near = np.zeros(len(position), np.float64)
    for token_class, leaf in leaves.items():
        near += prices[token_class].take(position).astype(np.float64) * leaf
    doubtful = np.flatnonzero(near > _SURELY_BELOW)
    costs = np.zeros(doubtful.size, object)
    for token_class, leaf in leaves.items():
        quantity = leaf[doubtful].astype(object) if isinstance(leaf, np.ndarray) else leaf
        costs += prices[token_class].take(position[doubtful]).astype(object) * quantity
    return doubtful[np.array(costs > EVENT_LIMIT, np.bool_)]
