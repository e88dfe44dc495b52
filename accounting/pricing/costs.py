"""What does each event cost? Sums of quantity times marginal price over the usage columns.

int64 arithmetic is exact as long as the sum fits; where it may not, refusals.py refuses the event.
"""

from __future__ import annotations

import numpy as np

from accounting.pricing.block import Block
from accounting.pricing.marginal import REASONING_APART, REQUESTS_PRICED


def add_costs(block: Block) -> None:
    """Fills the costs of a block whose positions are known."""
    price, position, scratch, cost = block.book.marginal.price, block.position, block.scratch, block.cost
    cost[:] = 0
    for name in block.common:
        price[name].take(position, out=scratch, mode="clip")
        np.multiply(scratch, block.columns[name], out=scratch)
        np.add(cost, scratch, out=cost)
    if block.few_counts:
        place = position[block.few]
        cost[block.few] += sum(price[name].take(place) * counts for name, counts in block.few_counts.items())
    _add_rare_prices(block)


def _add_rare_prices(block: Block) -> None:
    """Adds what few models charge: for reasoning apart from output, and for a request by itself."""
    some = block.with_trait(REASONING_APART)
    if some.size and "reasoning_tokens" in block.columns:
        price = block.book.marginal.price["reasoning_tokens"].take(block.position[some])
        block.cost[some] += price * block.columns["reasoning_tokens"][some]
    some = block.with_trait(REQUESTS_PRICED)
    if some.size:
        block.cost[some] += block.book.prices["requests"].take(block.position[some])
