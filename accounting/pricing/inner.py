"""What do the events of one chunk cost? Array operations on buffers that stay in a core's cache, in the order of `rate_chunk`."""

from __future__ import annotations

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.chunk import Chunk, Columns
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.leaves import CLASS_OF_COLUMN, INPUT_COLUMNS, WHOLE_COLUMNS, WHOLE_OF, leaf_quantities
from accounting.pricing.limit import MAX_COUNT, may_exceed, over_limit
from accounting.pricing.marginal import LACKS_WHOLE, REASONING_APART, REQUESTS_PRICED
from accounting.usage.classes import PARTS

_FEW = 8
"""A column with a count in fewer than one of this many events is looked up for those events only."""


def find_positions(chunk: Chunk, group: Ints, occurred_at: Ints) -> None:
    """Position of each event by group and time; total input moves it on later. Overwrites `group`."""
    book, position = chunk.book, chunk.position
    book.calendar.bin_of(occurred_at, out=position)
    np.multiply(group, book.bins, out=group)
    np.add(group, position, out=group)
    position[:] = book.plan.take(group, mode="clip")
    book.resolve_windows(position, occurred_at)
    if position.min(initial=reasons.MATCH_REASONS) < reasons.MATCH_REASONS:
        unmatched = np.flatnonzero(position < reasons.MATCH_REASONS)
        chunk.reason[unmatched] = position[unmatched]


def refuse_impossible_counts(chunk: Chunk) -> None:
    """Refuses negative and absurd counts, and works on without them, so that no later sum of counts can wrap."""
    if max(chunk.largest.values(), default=0) <= MAX_COUNT:
        return
    negative, absurd = np.zeros(chunk.size, np.bool_), np.zeros(chunk.size, np.bool_)
    for column in chunk.counts.values():
        negative |= column < 0
        absurd |= column > MAX_COUNT
    chunk.refuse(np.flatnonzero(negative), reasons.INCONSISTENT)
    chunk.refuse(np.flatnonzero(absurd), reasons.OVER_LIMIT)
    chunk.counts = {name: np.where(negative | absurd, 0, column) for name, column in chunk.counts.items()}
    chunk.largest = {name: int(column.max(initial=0)) for name, column in chunk.counts.items()}


def reach_thresholds(chunk: Chunk) -> None:
    """Moves events from their base position on by the number of thresholds that their total input reaches."""
    live = [name for name in INPUT_COLUMNS if name in chunk.counts]
    least = chunk.book.positions.least_threshold
    if sum(chunk.largest[name] for name in live) < least:
        return
    total = chunk.scratch
    total[:] = chunk.counts[live[0]]
    for name in live[1:]:
        np.add(total, chunk.counts[name], out=total)
    long = np.flatnonzero(total >= least)
    base, inputs = chunk.position[long], total[long]
    reached = base.copy()
    for threshold in chunk.book.positions.thresholds:
        reached += inputs >= threshold.take(base)
    chunk.position[long] = reached


def add_costs(chunk: Chunk) -> None:
    """Sums quantity times marginal price over the columns; int64 wraps only where the limit refuses the event anyway."""
    price, position, cost, scratch = chunk.book.marginal.price, chunk.position, chunk.cost, chunk.scratch
    cost[:] = 0
    for name, column in chunk.counts.items():
        if name == "reasoning_tokens":
            continue
        if name in WHOLE_COLUMNS and np.count_nonzero(column) * _FEW > chunk.size:
            np.take(price[name], position, out=scratch, mode="clip")
            np.multiply(scratch, column, out=scratch)
            np.add(cost, scratch, out=cost)
        else:
            some = np.flatnonzero(column)
            cost[some] += price[name].take(position[some]) * column[some]


def add_rare_prices(chunk: Chunk) -> None:
    """Adds what few models charge: for reasoning apart from output, and for a request by itself."""
    np.take(chunk.book.marginal.traits, chunk.position, out=chunk.traits, mode="clip")
    reasoning = chunk.counts.get("reasoning_tokens")
    if reasoning is not None:
        some = np.flatnonzero(chunk.traits & REASONING_APART)
        price = chunk.book.marginal.price["reasoning_tokens"]
        chunk.cost[some] += price.take(chunk.position[some]) * reasoning[some]
    some = np.flatnonzero(chunk.traits & REQUESTS_PRICED)
    chunk.cost[some] += chunk.book.prices["requests"].take(chunk.position[some])


def refuse_inconsistent(chunk: Chunk) -> None:
    """Refuses events with parts larger than their whole; reasoning is a part of output whether or not it has a price."""
    counts = chunk.counts
    for whole, parts in (*PARTS.items(), ("output_tokens", ("reasoning_tokens",))):
        live = [counts[part] for part in parts if part in counts]
        if not live:
            continue
        inside = live[0] if len(live) == 1 else np.sum(live, axis=0)
        chunk.refuse(np.flatnonzero(inside > counts.get(whole, 0)), reasons.INCONSISTENT)
    some = np.flatnonzero(chunk.traits & REASONING_APART)
    if some.size:
        chunk.refuse(some[_leaves(chunk, some)["output"] < 0], reasons.INCONSISTENT)


def refuse_without_price(chunk: Chunk) -> None:
    """Refuses events with tokens of a class that their row can't price."""
    missing = chunk.book.missing
    for name, column in chunk.counts.items():
        if name in WHOLE_OF or name in ("web_search_requests", "web_fetch_requests"):
            some = np.flatnonzero(column)
            token_class = CLASS_OF_COLUMN[name]
            chunk.refuse(some[missing[token_class].take(chunk.position[some])], reasons.class_reason(token_class))
    some = np.flatnonzero(chunk.traits & LACKS_WHOLE)
    if some.size:
        leaves, where = _leaves(chunk, some), chunk.position[some]
        for token_class in (CLASS_OF_COLUMN[name] for name in WHOLE_COLUMNS):
            unpriced = missing[token_class].take(where) & (leaves[token_class] > 0)
            chunk.refuse(some[unpriced], reasons.class_reason(token_class))


def refuse_above_limit(chunk: Chunk) -> None:
    """Refuses events above 9,000 currency units, whose int64 cost may have wrapped."""
    if not may_exceed(chunk.book.marginal, chunk.largest):
        return
    some = np.flatnonzero(chunk.reason == reasons.PRICED)
    chunk.refuse(some[over_limit(chunk.book.prices, chunk.position[some], _leaves(chunk, some))], reasons.OVER_LIMIT)


def finish(chunk: Chunk, rows: slice, out: Columns) -> None:
    """Writes price row, cost and currency of each event; none for events with a reason."""
    book, position = chunk.book, chunk.position
    np.take(book.positions.row_at, position, out=out.sku_index[rows], mode="clip")
    np.take(book.sku_price_ids, position, out=out.sku_price_id[rows], mode="clip")
    if len(book.currencies) > 1:
        np.take(book.currency_at, position, out=out.currency[rows], mode="clip")
    if chunk.reason.any():
        unpriced = np.flatnonzero(chunk.reason)
        chunk.cost[unpriced] = 0
        out.sku_index[rows][unpriced] = -1
        out.sku_price_id[rows][unpriced] = 0
        out.currency[rows][unpriced] = -1


def _leaves(chunk: Chunk, some: Ints) -> dict[str, Ints]:
    traits = chunk.traits[some]
    apart: Flags = (traits & REASONING_APART) > 0
    counts = {name: column[some] for name, column in chunk.counts.items()}
    leaves = leaf_quantities(counts, apart, (traits & REQUESTS_PRICED) > 0)
    return {name: np.broadcast_to(leaf, some.shape) for name, leaf in leaves.items()}
