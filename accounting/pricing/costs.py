"""What does each event cost? Sums of quantity times marginal price over the usage columns.

int64 arithmetic is exact as long as the sum fits; where it may not, refusals.py refuses the event.
"""

from __future__ import annotations

import numpy as np

from accounting.pricing.block import Block
from accounting.pricing.leaves import WHOLE_COLUMNS
from accounting.pricing.marginal import REASONING_APART, REQUESTS_PRICED

_RARE = 8
"""A column in which fewer than one event of this many has a count is worked on for those events only."""


def add_costs(block: Block) -> None:
    """Fills the costs of a block whose positions are known."""
    marginal, position, scratch, cost = block.book.marginal, block.position, block.scratch, block.cost
    cost[:] = 0
    for name, column in block.counts.items():
        if name == "reasoning_tokens":
            continue
        if name in WHOLE_COLUMNS and np.count_nonzero(column) * _RARE > block.size:
            marginal.price[name].take(position, out=scratch, mode="clip")
            np.multiply(scratch, column, out=scratch)
            np.add(cost, scratch, out=cost)
        else:
            some = block.where(name)
            cost[some] += marginal.price[name].take(position[some]) * column[some]
    _add_rare_prices(block)


def _add_rare_prices(block: Block) -> None:
    """Adds what few models charge: for reasoning apart from output, and for a request by itself."""
    some = block.with_trait(REASONING_APART)
    if some.size and "reasoning_tokens" in block.counts:
        price = block.book.marginal.price["reasoning_tokens"].take(block.position[some])
        block.cost[some] += price * block.counts["reasoning_tokens"][some]
    some = block.with_trait(REQUESTS_PRICED)
    if some.size:
        block.cost[some] += block.book.prices["requests"].take(block.position[some])
