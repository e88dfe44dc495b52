"""What does each plain event cost, and which events are not plain? One pass over a block, a few hundred events at a time.

Plain is an event whose names and date have no price, or whose counts are possible, consistent, priced and surely below the limit.
All others are listed for the general path, so that no rule on refusals stands here a second time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from accounting.pricing.compiled.jit import column, compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

COLUMNS = 17
IS_INPUT, IS_PART, IS_UNIT, IS_MEMO = 1, 2, 4, 8
"""Kinds of a usage column."""

_LOOK, _OTHER = 1, 2
_CHUNK = 4096
_ints = column(types.int64)
_table = types.Array(types.int64, 2, "C", readonly=True)


@compiled(
    column(types.int32),
    _ints,
    types.UniTuple(_ints, COLUMNS),
    column(types.boolean),
    types.UniTuple(types.int64, 17),
    types.UniTuple(_ints, 7),
    types.UniTuple(column(types.int32), 3),
    types.UniTuple(column(types.uint8), 2),
    column(types.int8),
    _table,
    _table,
    _table,
    types.Array(types.int32, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.uint8, 1, "C"),
    types.Array(types.int8, 1, "C"),
    types.Array(types.int64, 1, "C"),
)
def rate_plain(  # noqa: PLR0912, PLR0915 - a call in a loop would cost more than what it does
    plan_rows: Array,
    occurred_at: Array,
    counts: tuple[Array, ...],
    cache_read_known: Array,
    numbers: tuple[int, ...],
    ints: tuple[Array, ...],
    codes: tuple[Array, ...],
    small: tuple[Array, ...],
    currencies: Array,
    prices: Array,
    thresholds: Array,
    windows: Array,
    sku_index: Array,
    sku_price_id: Array,
    cost: Array,
    reason: Array,
    currency: Array,
    others: Array,
) -> int:
    """Fills the answer's columns and `others`, the places of events that are not plain; gives their number.

    Args:
        plan_rows: first place in the plan of each event's group.
        counts: usage columns in the order of USAGE_COLUMNS; an absent one is empty.
        cache_read_known: empty where all are known.
        numbers, ints, codes, small, currencies, prices, thresholds, windows: see tables.py.
    """
    chunk = _CHUNK
    first_block, shift, day, first_window, match_reasons, unknown_cache = numbers[:6]
    count_limit, least, highest_request, safe, output, memo = numbers[6:12]
    apart_trait, requests_trait, lacks_trait, thresholds_trait, decided_trait = numbers[12:]
    borders, ids, requests, lacking, highest, whole_of, wholes = ints
    bins, row_at, plan = codes
    traits, kinds = small
    positions, totals = np.empty(chunk, np.uint32), np.empty(chunk, np.int64)
    looks, places = np.empty(chunk, np.uint8), np.empty(chunk, np.int64)
    lines, inside = np.zeros((COLUMNS, chunk), np.int64), np.empty(COLUMNS + 1, np.int64)
    parts_of, has_parts = np.empty((COLUMNS + 1, chunk), np.int64), np.zeros(COLUMNS + 1, np.bool_)
    found = 0
    last_block = bins.size - 1
    for start in range(0, plan_rows.size, chunk):
        size = min(chunk, plan_rows.size - start)
        end = start + size
        plans, instants, costs = plan_rows[start:end], occurred_at[start:end], cost[start:end]
        for at in range(size):
            instant = instants[at]
            part = bins[np.uint64(min(max((instant >> shift) - first_block, 0), last_block))]
            if part < 0:
                part = np.searchsorted(borders, instant, side="right")
            position = np.int64(plan[np.uint64(plans[at] + part)])
            if position >= first_window:
                of_day = instant % day
                line = position - first_window
                position = windows[line, 1]
                for slot in range(2, windows.shape[1], 2):
                    if of_day >= windows[line, slot]:
                        position = windows[line, slot + 1]
            positions[at] = position
            totals[at] = 0
            looks[at] = 0
            costs[at] = 0
        bound = float(highest_request)
        has_parts[:] = False
        for number in range(COLUMNS):
            if counts[number].size == 0:
                continue
            these = counts[number][start:end]
            largest, some = np.uint64(0), 0
            for at in range(size):
                largest = max(largest, np.uint64(these[at]))
            if largest == 0:
                continue
            price, kind = prices[number], kinds[number]
            if not kind & (IS_PART | IS_UNIT | IS_MEMO):
                for at in range(size):
                    some += these[at] != 0
            bound += float(largest) * float(highest[number])
            if largest >= np.uint64(count_limit):  # A negative count shows as a huge one.
                for at in range(size):
                    if np.uint64(these[at]) >= np.uint64(count_limit):
                        looks[at] |= _OTHER
            if kind & IS_MEMO:
                if counts[output].size:
                    whole = counts[output][start:end]
                    for at in range(size):
                        looks[at] |= (these[at] > whole[at]) << 1
                        costs[at] += price[positions[at]] * these[at]
                else:
                    for at in range(size):
                        looks[at] |= (these[at] != 0) << 1
            elif kind & (IS_PART | IS_UNIT) or 16 * some < size:
                parts = parts_of[whole_of[number]]
                if kind & IS_PART and not has_parts[whole_of[number]]:
                    has_parts[whole_of[number]] = True
                    parts[:size] = 0
                for at in range(size):
                    count = these[at]
                    if count != 0:
                        position = positions[at]
                        costs[at] += price[position] * count
                        looks[at] |= lacking[position] >> number & 1
                        if kind & IS_PART:
                            parts[at] += count
                        if kind & IS_INPUT:
                            totals[at] += count
            elif kind & IS_INPUT:
                for at in range(size):
                    costs[at] += price[positions[at]] * these[at]
                    totals[at] += these[at]
            else:
                for at in range(size):
                    costs[at] += price[positions[at]] * these[at]
        for number in wholes:
            if has_parts[number]:
                parts = parts_of[number]
                if counts[number].size:
                    whole = counts[number][start:end]
                    for at in range(size):
                        looks[at] |= (parts[at] > whole[at]) << 1
                else:
                    for at in range(size):
                        looks[at] |= (parts[at] != 0) << 1
        near, special = bound > float(safe), 0
        rows_of, ids_of, codes_of, reasons_of = (
            sku_index[start:end],
            sku_price_id[start:end],
            currency[start:end],
            reason[start:end],
        )
        known = cache_read_known[start:end]
        for at in range(size):
            position = positions[at]
            if position < match_reasons or (known.size and not known[at]):
                rows_of[at], ids_of[at], costs[at], codes_of[at] = -1, 0, 0, -1
                reasons_of[at] = position if position < match_reasons else unknown_cache
                continue
            trait = traits[position]
            if trait:
                if trait & requests_trait:
                    costs[at] += requests[position]
                if trait & lacks_trait or (trait & thresholds_trait and totals[at] >= least):
                    looks[at] |= _LOOK
                if trait & decided_trait:
                    looks[at] |= _OTHER
                if trait & apart_trait and has_parts[output] and parts_of[output, at]:
                    looks[at] |= _LOOK
            rows_of[at], ids_of[at], codes_of[at], reasons_of[at] = (
                row_at[position],
                ids[position],
                currencies[position],
                0,
            )
            if looks[at] or near:
                places[special] = at
                special += 1
        if special == 0:
            continue
        for number in range(COLUMNS):
            lines_of = lines[number]
            if counts[number].size:
                these = counts[number][start:end]
                for at in range(special):
                    lines_of[at] = these[places[at]]
        for at in range(special):
            row, base, look = start + places[at], np.int64(positions[places[at]]), looks[places[at]]
            position = base
            for level in range(thresholds.shape[0]):
                position += totals[places[at]] >= thresholds[level, base]
            if position != base:
                amount = requests[position]
                for number in range(COLUMNS):
                    amount += prices[number, position] * lines[number, at]
                cost[row], sku_index[row], sku_price_id[row] = amount, row_at[position], ids[position]
            lacks = lacking[position]
            if lacks:
                for number in range(COLUMNS):
                    if lacks >> number & 1 and lines[number, at]:
                        look |= _OTHER
            inside[:] = 0
            for number in range(COLUMNS):
                inside[whole_of[number]] += lines[number, at]
            if not traits[position] & apart_trait:
                inside[output] -= lines[memo, at]
            for number in wholes:
                if inside[number] > lines[number, at]:
                    look |= _OTHER
            if near:
                most = float(requests[position])
                for number in range(COLUMNS):
                    most += float(max(prices[number, position], 0)) * float(lines[number, at])
                if most > float(safe):
                    look |= _OTHER
            if look & _OTHER:
                others[found] = row
                found += 1
    return found
