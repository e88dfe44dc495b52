"""What does each event cost? Sums of quantity times marginal price over the usage columns.

Each column is read once while it is in the cache. int64 arithmetic is exact as long as the sum fits; where it may not, refusals.py
refuses the event.
"""

from __future__ import annotations

import numpy as np

from accounting.pricing import reasons
from accounting.pricing.block import COUNT_LIMIT, Block
from accounting.pricing.layout import Ints
from accounting.pricing.leaves import INPUT_COLUMNS
from accounting.pricing.marginal import DECIDED_APART, HAS_THRESHOLDS, REASONING_APART, REQUESTS_PRICED
from accounting.pricing.tariff import DECIDED_BY

_MEMO = "reasoning_tokens"


def add_costs(block: Block) -> None:
    """Fills costs, traits and the final positions of a block whose base positions are known."""
    if not _read_columns(block):
        block.take_out_impossible_counts()
        _read_columns(block)
    _add_few(block)
    block.book.marginal.traits.take(block.position, out=block.traits, mode="clip")
    _reach_thresholds(block)
    _add_rare_prices(block)


def _read_columns(block: Block) -> bool:
    """Adds the common columns at base prices and joins the rare ones. False: a count is impossible, and nothing is right yet."""
    price, position, cost, total, scratch = (
        block.book.marginal.price,
        block.position,
        block.cost,
        block.total,
        block.scratch,
    )
    cost[:] = 0
    total[:] = 0
    block.joined[:] = 0
    block.largest = {}
    for name, column in block.columns.items():
        largest = int(np.maximum.reduce(column.view(np.uint64)))  # A negative count shows as a huge one.
        if largest >= COUNT_LIMIT:
            return False
        if not largest:
            continue
        block.largest[name] = largest
        if name in block.common:
            price[name].take(position, out=scratch, mode="clip")
            np.multiply(scratch, column, out=scratch)
            np.add(cost, scratch, out=cost)
            if name in INPUT_COLUMNS:
                np.add(total, column, out=total)
        elif name == _MEMO:
            np.greater(column, block.columns.get("output_tokens", 0), out=block.flags)
            block.found.append((block.flags.nonzero()[0], reasons.INCONSISTENT))
        else:
            np.bitwise_or(block.joined, column, out=block.joined)
    return True


def _add_few(block: Block) -> None:
    """Adds the rare columns for the few events that have a count in any."""
    rare = [name for name in block.largest if name not in block.common and name != _MEMO]
    if not rare:
        return
    np.not_equal(block.joined, 0, out=block.flags)
    (block.few,) = block.flags.nonzero()
    block.few_counts = {name: block.columns[name][block.few] for name in rare}
    place = block.position[block.few]
    price = block.book.marginal.price
    block.cost[block.few] += sum(price[name].take(place) * counts for name, counts in block.few_counts.items())
    inputs = [counts for name, counts in block.few_counts.items() if name in INPUT_COLUMNS]
    if inputs:
        block.total[block.few] += sum(inputs)


def _reach_thresholds(block: Block) -> None:
    """Moves events on by the number of thresholds that their deciding tokens reach, and costs them again at their new position."""
    positions = block.book.positions
    if sum(block.largest.get(name, 0) for name in INPUT_COLUMNS) >= positions.least_threshold:
        np.greater_equal(block.total, positions.least_threshold, out=block.flags)
        (long,) = block.flags.nonzero()
        some = long[(block.traits[long] & HAS_THRESHOLDS) > 0]
        _move_on(block, some, block.total[some])
    if positions.decider.any():
        some = block.with_trait(DECIDED_APART)
        _move_on(block, some, _deciding(block, some))


def _deciding(block: Block, some: Ints) -> Ints:
    """How many tokens decide for each of some events, by the rule of its base position."""
    none: Ints = np.zeros(some.size, np.int64)
    uncached, output = (
        block.columns[name][some] if name in block.columns else none
        for name in ("uncached_input_tokens", "output_tokens")
    )
    total = block.total[some]
    by_rule = {"total_input": total, "uncached_input": uncached, "output": output, "total": total + output}
    decider = block.book.positions.decider.take(block.position[some])
    return np.select([decider == code for code in range(len(DECIDED_BY))], [by_rule[name] for name in DECIDED_BY])


def _move_on(block: Block, some: Ints, deciding: Ints) -> None:
    if not some.size:
        return
    base = block.position[some]
    place = base.copy()
    for threshold in block.book.positions.thresholds:
        place += deciding >= threshold.take(base)
    block.position[some] = place
    block.traits[some] = block.book.marginal.traits.take(place)
    cost: Ints = np.zeros(some.size, np.int64)
    for name in block.largest:
        if name != _MEMO:
            cost += block.book.marginal.price[name].take(place) * block.columns[name][some]
    block.cost[some] = cost


def _add_rare_prices(block: Block) -> None:
    """Adds what few models charge: for reasoning apart from output, and for a request by itself."""
    some = block.with_trait(REASONING_APART)
    if some.size and _MEMO in block.largest:
        price = block.book.marginal.price[_MEMO].take(block.position[some])
        block.cost[some] += price * block.columns[_MEMO][some]
    some = block.with_trait(REQUESTS_PRICED)
    if some.size:
        block.cost[some] += block.book.prices["requests"].take(block.position[some])
