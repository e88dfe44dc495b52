"""Which position of the price book does each event have by names and time?"""

from __future__ import annotations

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.block import Block
from accounting.pricing.layout import Ints
from accounting.pricing.match import PlanRows


def locate(block: Block, plan_rows: PlanRows, occurred_at: Ints) -> None:
    """Fills the base positions of a block, and the reason of what names and date alone leave without a price."""
    book, position, scratch = block.book, block.position, block.scratch
    bins = book.calendar.bin_of(occurred_at, scratch, block.bins)
    np.add(plan_rows(block.rows, block.code), bins, out=scratch)
    book.plan.take(scratch, out=position, mode="clip")
    book.resolve_windows(position, occurred_at)
    if np.minimum.reduce(position) < reasons.MATCH_REASONS:
        (unmatched,) = (position < reasons.MATCH_REASONS).nonzero()
        block.refuse(unmatched, position[unmatched])
