"""Which events must stay without a price, and why? In the order of reasons.py: the first reason found stands."""

from __future__ import annotations

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.block import Block
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.leaves import CLASS_OF_COLUMN, UNIT_COLUMNS, WHOLE_COLUMNS, WHOLE_OF, leaf_quantities
from accounting.pricing.limit import may_exceed, over_limit
from accounting.pricing.marginal import LACKS_WHOLE, REASONING_APART, REQUESTS_PRICED
from accounting.usage.classes import PARTS


def refuse(block: Block, cache_read_known: Flags | None) -> None:
    """Fills the reasons of a block whose positions and costs are known."""
    if cache_read_known is not None and not cache_read_known.all():
        block.refuse((~cache_read_known).nonzero()[0], reasons.CACHE_READ_UNKNOWN)
    for events, reason in block.found:
        block.refuse(events, reason)
    _refuse_inconsistent(block)
    _refuse_without_price(block)
    if may_exceed(block.book.marginal, block.largest):
        (some,) = (block.reason == reasons.PRICED).nonzero()
        traits, counts = block.traits[some], {name: column[some] for name, column in block.columns.items()}
        leaves = leaf_quantities(counts, (traits & REASONING_APART) > 0, (traits & REQUESTS_PRICED) > 0)
        above = over_limit(block.book.prices, block.position[some], leaves)
        block.refuse(some[above], reasons.OVER_LIMIT)


def _refuse_inconsistent(block: Block) -> None:
    """Parts larger than their whole; reasoning beyond all output was already found while it was read."""
    for whole, parts in PARTS.items():
        inside = [block.few_counts[part] for part in parts if part in block.few_counts]
        if inside:
            available = block.columns[whole][block.few] if whole in block.columns else 0
            block.refuse(block.few[sum(inside) > available], reasons.INCONSISTENT)
    if "reasoning_tokens" in block.largest:
        some = block.with_trait(REASONING_APART)
        if some.size:
            block.refuse(some[_left_of(block, "output_tokens", some) < 0], reasons.INCONSISTENT)


def _refuse_without_price(block: Block) -> None:
    """Tokens or units of a class that the event's row can't price."""
    missing = block.book.missing
    place = block.position[block.few] if block.few_counts else block.few
    for name in (*WHOLE_OF, *UNIT_COLUMNS):
        if name in block.few_counts:
            token_class = CLASS_OF_COLUMN[name]
            unpriced = missing[token_class].take(place) & (block.few_counts[name] > 0)
            block.refuse(block.few[unpriced], reasons.class_reason(token_class))
    some = block.with_trait(LACKS_WHOLE)
    if some.size:
        place = block.position[some]
        for name in WHOLE_COLUMNS:
            if name in block.largest:
                token_class = CLASS_OF_COLUMN[name]
                lacking = some[missing[token_class].take(place)]
                block.refuse(lacking[_left_of(block, name, lacking) > 0], reasons.class_reason(token_class))


def _left_of(block: Block, whole: str, some: Ints) -> Ints:
    """What is left of a whole in some events once the parts with a class of their own are taken out."""
    left = block.columns[whole][some] if whole in block.columns else np.zeros(some.size, np.int64)
    for part in PARTS.get(whole, ()):
        if part in block.few_counts:
            left = left - block.columns[part][some]
    if whole == "output_tokens" and "reasoning_tokens" in block.largest:
        apart = (block.traits[some] & REASONING_APART) > 0
        left = left - block.columns["reasoning_tokens"][some] * apart
    return left
