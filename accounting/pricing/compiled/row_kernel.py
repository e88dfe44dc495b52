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
_ints = column(types.int64)
_table = types.Array(types.int64, 2, "C", readonly=True)


@compiled(
    column(types.int32),
    _ints,
    types.UniTuple(_ints, COLUMNS),
    column(types.boolean),
    types.UniTuple(types.int64, 10),
    types.UniTuple(_ints, 7),
    types.UniTuple(column(types.int32), 2),
    types.UniTuple(column(types.uint8), 2),
    _table,
    _table,
    _table,
    types.Array(types.int32, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.int64, 1, "C"),
    types.Array(types.uint8, 1, "C"),
    types.Array(types.int64, 1, "C"),
)
def rate_plain(
    plan_rows: Array,
    occurred_at: Array,
    counts: tuple[Array, ...],
    cache_read_known: Array,
    numbers: tuple[int, ...],
    ints: tuple[Array, ...],
    codes: tuple[Array, ...],
    small: tuple[Array, ...],
    prices: Array,
    thresholds: Array,
    windows: Array,
    sku_index: Array,
    sku_price_id: Array,
    cost: Array,
    reason: Array,
    others: Array,
) -> int:
    """Fills the answer's columns and `others`, the places of events that are not plain; gives their number.

    Args:
        plan_rows: first place in the plan of each event's group.
        counts: usage columns in the order of USAGE_COLUMNS; an absent one is empty.
        cache_read_known: empty where all are known.
        numbers, ints, codes, small, prices, thresholds, windows: see tables.py.
    """
    chunk = 512
    match_reasons, unknown_cache, first_window, count_limit, day, shift, first_block, least, highest_request, safe = numbers
    plan, borders, ids, requests, lacking, highest, whole_of = ints
    bins, row_at = codes
    traits, kinds = small
    apart_trait, requests_trait, lacks_trait, thresholds_trait = 1, 2, 4, 8
    is_input, is_part, is_memo = 1, 2, 4
    memo, output = 8, 7
    positions, totals = np.empty(chunk, np.int64), np.empty(chunk, np.int64)
    looks = np.empty(chunk, np.uint8)
    found = 0
    last_block = bins.size - 1
    for start in range(0, plan_rows.size, chunk):
        size = min(chunk, plan_rows.size - start)
        for at in range(size):
            instant = occurred_at[start + at]
            part = bins[min(max((instant >> shift) - first_block, 0), last_block)]
            if part < 0:
                part = np.searchsorted(borders, instant, side="right")
            position = plan[plan_rows[start + at] + part]
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
            cost[start + at] = 0
        bound = float(highest_request)
        for number in range(COLUMNS):
            column_counts = counts[number]
            if column_counts.size == 0:
                continue
            largest, some = np.uint64(0), 0
            for at in range(start, start + size):
                largest = max(largest, np.uint64(column_counts[at]))
                some += column_counts[at] != 0
            if largest == 0:
                continue
            bound += float(largest) * float(highest[number])
            if largest >= np.uint64(count_limit):  # A negative count shows as a huge one.
                for at in range(size):
                    if np.uint64(column_counts[start + at]) >= np.uint64(count_limit):
                        looks[at] |= 2
            price, kind = prices[number], kinds[number]
            if kind & is_memo:
                whole = counts[output]
                for at in range(size):
                    count = column_counts[start + at]
                    if count > (whole[start + at] if whole.size else 0):
                        looks[at] |= 2
                    cost[start + at] += price[positions[at]] * count
            elif kind & is_part or 4 * some < size:
                mark = kind & is_part
                for at in range(size):
                    count = column_counts[start + at]
                    if count != 0:
                        cost[start + at] += price[positions[at]] * count
                        looks[at] |= mark >> 1
                        if kind & is_input:
                            totals[at] += count
            elif kind & is_input:
                for at in range(size):
                    cost[start + at] += price[positions[at]] * column_counts[start + at]
                    totals[at] += column_counts[start + at]
            else:
                for at in range(size):
                    cost[start + at] += price[positions[at]] * column_counts[start + at]
        near = bound > float(safe)
        for at in range(size):
            row, position, look = start + at, positions[at], looks[at]
            if position < match_reasons or (cache_read_known.size and not cache_read_known[row]):
                sku_index[row], sku_price_id[row], cost[row] = -1, 0, 0
                reason[row] = position if position < match_reasons else unknown_cache
                continue
            trait = traits[position]
            if trait & thresholds_trait and totals[at] >= least:
                reached = position
                for level in range(thresholds.shape[0]):
                    reached += totals[at] >= thresholds[level, position]
                if reached != position:
                    position, amount = reached, 0
                    for number in range(COLUMNS):
                        if counts[number].size:
                            amount += prices[number, position] * counts[number][row]
                    cost[row], trait = amount, traits[position]
            if trait & requests_trait:
                cost[row] += requests[position]
            if near:
                most = float(requests[position])
                for number in range(COLUMNS):
                    if counts[number].size:
                        most += float(max(prices[number, position], 0)) * float(counts[number][row])
                if most > float(safe):
                    look |= 2
            if look == 1 or trait & lacks_trait:
                left = counts[output][row] if counts[output].size else 0
                if trait & apart_trait and counts[memo].size:
                    left -= counts[memo][row]
                for whole_number in range(COLUMNS):
                    if counts[whole_number].size and counts[whole_number][row] and lacking[position] >> whole_number & 1:
                        look |= 2
                    inside = 0
                    for number in range(COLUMNS):
                        if whole_of[number] == whole_number and counts[number].size:
                            inside += counts[number][row]
                    if whole_number == output:
                        left -= inside
                    elif inside and inside > (counts[whole_number][row] if counts[whole_number].size else 0):
                        look |= 2
                if left < 0:
                    look |= 2
            if look & 2:
                others[found] = row
                found += 1
            sku_index[row], sku_price_id[row], reason[row] = row_at[position], ids[position], 0
    return found
