"""Which position of the price book does each event have?"""

from __future__ import annotations

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.block import Block
from accounting.pricing.layout import Ints
from accounting.pricing.leaves import INPUT_COLUMNS
from accounting.pricing.match import Matcher


def locate(block: Block, matcher: Matcher, occurred_at: Ints) -> None:
    """Fills position, traits and seller of a block, and the reason of what names and date alone leave without a price."""
    book, position, scratch = block.book, block.position, block.scratch
    group = matcher.groups(block.rows, block.code, block.group)
    book.seller_of_group.take(group, out=block.seller, mode="clip")
    book.calendar.bin_of(occurred_at, out=position)
    np.multiply(group, book.bins, out=scratch, dtype=np.int64)
    np.add(scratch, position, out=scratch)
    book.plan.take(scratch, out=block.group, mode="clip")
    position[:] = block.group
    book.resolve_windows(position, occurred_at)
    if np.minimum.reduce(position) < reasons.MATCH_REASONS:
        (unmatched,) = (position < reasons.MATCH_REASONS).nonzero()
        block.refuse(unmatched, position[unmatched])
    _reach_thresholds(block)
    book.marginal.traits.take(position, out=block.traits, mode="clip")


def _reach_thresholds(block: Block) -> None:
    """Moves events from their base position on by the number of thresholds that their total input reaches."""
    least = block.book.positions.least_threshold
    if sum(block.largest.get(name, 0) for name in INPUT_COLUMNS) < least:
        return
    common = [block.columns[name] for name in INPUT_COLUMNS if name in block.common]
    total = block.scratch
    total[:] = common[0] if common else 0
    for column in common[1:]:
        np.add(total, column, out=total)
    rare = [block.few_counts[name] for name in INPUT_COLUMNS if name in block.few_counts]
    if rare:
        total[block.few] += sum(rare)
    np.greater_equal(total, least, out=block.flags)
    (long,) = block.flags.nonzero()
    if long.size:
        base, inputs = block.position[long], total[long]
        reached = base.copy()
        for threshold in block.book.positions.thresholds:
            reached += inputs >= threshold.take(base)
        block.position[long] = reached
