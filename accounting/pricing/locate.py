"""Which position of the price book does each event have?"""

from __future__ import annotations

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.block import Block
from accounting.pricing.layout import Ints
from accounting.pricing.leaves import INPUT_COLUMNS
from accounting.pricing.marginal import HAS_THRESHOLDS
from accounting.pricing.match import Matcher


def locate(block: Block, matcher: Matcher, occurred_at: Ints) -> None:
    """Fills position and traits of a block, and the reason of what names and date alone leave without a price."""
    book, position, scratch = block.book, block.position, block.scratch
    bins = book.calendar.bin_of(occurred_at, scratch, block.bins)
    np.add(matcher.plan_rows(block.rows, block.code), bins, out=scratch)
    book.plan.take(scratch, out=position, mode="clip")
    book.resolve_windows(position, occurred_at)
    if np.minimum.reduce(position) < reasons.MATCH_REASONS:
        (unmatched,) = (position < reasons.MATCH_REASONS).nonzero()
        block.refuse(unmatched, position[unmatched])
    book.marginal.traits.take(position, out=block.traits, mode="clip")
    _reach_thresholds(block)


def _reach_thresholds(block: Block) -> None:
    """Moves events from their base position on by the number of thresholds that their total input reaches."""
    least = block.book.positions.least_threshold
    if sum(block.largest.get(name, 0) for name in INPUT_COLUMNS) < least:
        return
    common = [block.columns[name] for name in INPUT_COLUMNS if name in block.common]
    total, long, flags = block.scratch, block.long, block.flags
    total[:] = common[0] if common else 0
    for column in common[1:]:
        np.add(total, column, out=total)
    rare = [block.few_counts[name] for name in INPUT_COLUMNS if name in block.few_counts]
    if rare:
        total[block.few] += sum(rare)
    np.greater_equal(total, least, out=long)
    np.bitwise_and(block.traits, HAS_THRESHOLDS, out=flags.view(np.uint8))
    np.logical_and(long, flags, out=long)
    (some,) = long.nonzero()
    if some.size:
        base, inputs = block.position[some], total[some]
        reached = base.copy()
        for threshold in block.book.positions.thresholds:
            reached += inputs >= threshold.take(base)
        block.position[some] = reached
        block.traits[some] = block.book.marginal.traits.take(reached)
