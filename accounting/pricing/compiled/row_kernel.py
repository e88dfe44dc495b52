"""What does each plain event cost, and which events are not plain? One pass over a block, a few thousand events at a time.

Plain is an event whose names and date have no price, or whose counts are possible, consistent, priced and surely below the limit.
All others are listed for the general path, so that no rule on refusals stands here a second time.

Each step is a short loop over one or two columns, so that it is done in registers; a column with few counts is looked at 64 events at
a time. What is rare is flagged on the way and done for the flagged events alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from accounting.pricing.compiled.jit import column, compiled, step

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

COLUMNS = 17
IS_INPUT, IS_PART, IS_UNIT, IS_MEMO = 1, 2, 4, 8
"""Kinds of a usage column."""
CURRENCY_FROM, REASON_FROM, FLAGS_FROM, TRAIT_FROM = 32, 40, 48, 50
"""Bits of the second word of a position's facts, above its row: currency, reason, and traits where they stand among an event's flags."""

_LOOK, _OTHER = 1, 2
_CHUNK = 4096
_WORD = 64
_ANSWER = (types.int32, types.int64, types.int64, types.uint8, types.int8)
_ints = column(types.int64)
_table = types.Array(types.int64, 2, "C", readonly=True)


@intrinsic  # type: ignore[untyped-decorator]
def _nonzero(_context: Any, counts: Any, at: Any) -> Any:
    """Which of the 64 counts from a place on are not zero, as bits."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        wide = ir.VectorType(ir.IntType(64), _WORD)
        vector = builder.load(builder.bitcast(builder.gep(data, [values[1]]), wide.as_pointer()))
        vector.align = 8
        return builder.bitcast(builder.icmp_unsigned("!=", vector, ir.Constant(wide, [0] * _WORD)), ir.IntType(64))

    return types.uint64(counts, at), build


@intrinsic  # type: ignore[untyped-decorator]
def _ones(_context: Any, word: Any) -> Any:
    """How many bits are set."""
    return types.int64(word), lambda _, builder, __, values: builder.ctpop(values[0])


@intrinsic  # type: ignore[untyped-decorator]
def _lowest(_context: Any, word: Any) -> Any:
    """Place of the lowest bit that is set; there is one."""
    return types.uint64(word), lambda _, builder, __, values: builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))


@step
def _locate(plan_rows: Array, occurred_at: Array, calendar: Any, tables: Any, windows: Array, positions: Array) -> None:
    """Position by group and time; blocks of time with a border inside and windows of the day only where there are any."""
    first_block, shift, day, first_window = calendar
    borders, bins, plan = tables
    last_block, rare = bins.size - 1, 0
    for at in range(plan_rows.size):
        part = np.int64(bins[np.uint64(min(max((occurred_at[at] >> shift) - first_block, 0), last_block))])
        position = np.int64(plan[np.uint64(plan_rows[at] + max(part, 0))])
        positions[at] = position
        rare |= part | (first_window - 1 - position)
    if rare >= 0:
        return
    for at in range(plan_rows.size):
        instant = occurred_at[at]
        if bins[np.uint64(min(max((instant >> shift) - first_block, 0), last_block))] < 0:
            positions[at] = plan[np.uint64(plan_rows[at] + np.searchsorted(borders, instant, side="right"))]
        if positions[at] >= first_window:
            line = np.int64(positions[at]) - first_window
            position = windows[line, 1]
            for slot in range(2, windows.shape[1], 2):
                if instant % day >= windows[line, slot]:
                    position = windows[line, slot + 1]
            positions[at] = position


@step
def _filled(counts: Array, words: Array) -> int:
    """Fills `words`, a bit for each count that is not zero, and gives their number."""
    some, whole = 0, counts.size // _WORD
    for word in range(whole):
        words[word] = _nonzero(counts, word * _WORD)
        some += _ones(words[word])
    if counts.size % _WORD:
        words[whole] = 0
    for at in range(whole * _WORD, counts.size):
        words[whole] |= np.uint64(counts[at] != 0) << np.uint64(at % _WORD)
        some += counts[at] != 0
    return some


@step
def _largest(counts: Array) -> Any:
    largest = np.uint64(0)
    for at in range(counts.size):
        largest = max(largest, np.uint64(counts[at]))
    return largest


@step
def _add_all(counts: Array, price: Array, positions: Array, costs: Array) -> None:
    for at in range(counts.size):
        costs[at] += price[positions[at]] * counts[at]


@step
def _add_some(counts: Array, words: Array, number: int, of: Any, costs: Array, flags: Array, parts: Array) -> None:
    """Adds a column in which few events have a count, to their whole too, where it is a part (else `parts` is empty)."""
    price, lacking, positions = of
    for word in range((counts.size + _WORD - 1) // _WORD):
        bits = words[word]
        while bits:
            at = np.uint64(word * _WORD) + _lowest(bits)
            bits &= bits - np.uint64(1)
            position = positions[at]
            costs[at] += price[position] * counts[at]
            flags[at] |= lacking[position] >> number & _LOOK
            if parts.size:
                parts[at] += counts[at]


@step
def _flag_beyond(parts: Array, whole: Array, flags: Array) -> None:
    """Flags events whose parts are more than their whole; an absent whole is empty."""
    if whole.size:
        for at in range(parts.size):
            flags[at] |= (parts[at] > whole[at]) * _OTHER
    else:
        for at in range(parts.size):
            flags[at] |= (parts[at] != 0) * _OTHER


@step
def _answer(positions: Array, facts: Array, answer: Any, flags: Array) -> None:
    rows, ids, _, reasons, codes = answer
    for at in range(positions.size):
        fact = facts[positions[at], 1]
        ids[at] = facts[positions[at], 0]
        rows[at] = fact
        codes[at] = fact >> CURRENCY_FROM
        reasons[at] = fact >> REASON_FROM
        flags[at] |= np.uint8(fact >> FLAGS_FROM)


@step
def _refuse_unknown(known: Array, positions: Array, codes: Any, answer: Any, flags: Array) -> None:
    """Events whose cached tokens are not known, where names and date, whose reasons are below `codes[0]`, have left them a price."""
    rows, ids, costs, reasons, currencies = answer
    for at in range(known.size):
        if not known[at] and positions[at] >= codes[0]:
            rows[at], ids[at], costs[at], reasons[at], currencies[at], flags[at] = -1, 0, 0, codes[1], -1, 0


@step
def _places(flags: Array, places: Array) -> int:
    several = 0
    for at in range(flags.size):
        places[several] = at
        several += flags[at] != 0
    return several


@compiled(
    column(types.int32),
    _ints,
    types.UniTuple(_ints, COLUMNS),
    column(types.boolean),
    types.UniTuple(types.int64, 17),
    types.UniTuple(_ints, 6),
    types.UniTuple(column(types.int32), 2),
    types.UniTuple(_table, 4),
    types.Tuple([types.Array(kind, 1, "C") for kind in _ANSWER]),
    types.Array(types.int64, 1, "C"),
)
def rate_plain(  # noqa: PLR0912, PLR0915 - what each step needs is at hand here
    plan_rows: Array,
    occurred_at: Array,
    counts: tuple[Array, ...],
    cache_read_known: Array,
    numbers: tuple[int, ...],
    ints: tuple[Array, ...],
    codes: tuple[Array, ...],
    tables: tuple[Array, ...],
    answers: tuple[Array, ...],
    others: Array,
) -> int:
    """Fills the answer's columns and `others`, the places of events that are not plain; gives their number.

    Args:
        plan_rows: first place in the plan of each event's group.
        counts: usage columns in the order of USAGE_COLUMNS; an absent one is empty.
        cache_read_known: empty where all are known.
        numbers, ints, codes, tables: see tables.py.
        answers: sku_index, sku_price_id, cost, reason and currency of an Answer.
    """
    calendar, refused = numbers[:4], numbers[4:6]
    count_limit, least, highest_request, safe, output, memo = numbers[6:12]
    apart_trait, requests_trait, lacks_trait, thresholds_trait, decided_trait = numbers[12:]
    (borders, requests, lacking, highest, whole_of, kinds), (prices, thresholds, windows, facts) = ints, tables
    all_positions, all_flags = np.empty(_CHUNK, np.uint32), np.empty(_CHUNK, np.uint8)
    places, words = np.empty(_CHUNK, np.int64), np.empty(_CHUNK // _WORD, np.uint64)
    parts_of, has_parts = np.empty((COLUMNS + 1, _CHUNK), np.int64), np.empty(COLUMNS + 1, np.bool_)
    line, inside, no_parts = np.zeros(COLUMNS, np.int64), np.empty(COLUMNS + 1, np.int64), np.empty(0, np.int64)
    (rows, ids, cost, reasons, currencies), found = answers, 0
    for start in range(0, plan_rows.size, _CHUNK):
        size = min(_CHUNK, plan_rows.size - start)
        end = start + size
        costs, positions, flags = cost[start:end], all_positions[:size], all_flags[:size]
        answer = (rows[start:end], ids[start:end], costs, reasons[start:end], currencies[start:end])
        _locate(plan_rows[start:end], occurred_at[start:end], calendar, (borders, *codes), windows, positions)
        flags[:] = 0
        costs[:] = 0
        has_parts[:] = False
        bound = float(highest_request)
        for number in range(COLUMNS):
            these, kind, whole = counts[number][start:end], kinds[number], whole_of[number]
            some = _filled(these, words)
            if some == 0:
                continue
            largest = _largest(these)
            bound += float(largest) * float(highest[number])
            if largest >= np.uint64(count_limit):  # A negative count shows as a huge one.
                for at in range(size):
                    flags[at] |= (np.uint64(these[at]) >= np.uint64(count_limit)) * _OTHER
            if kind & IS_MEMO:
                _flag_beyond(these, counts[output][start:end], flags)
            elif kind & (IS_PART | IS_UNIT) or 16 * some < size:
                if kind & IS_PART and not has_parts[whole]:
                    has_parts[whole] = True
                    parts_of[whole, :size] = 0
                parts = parts_of[whole, :size] if kind & IS_PART else no_parts
                _add_some(these, words, number, (prices[number], lacking, positions), costs, flags, parts)
            else:
                _add_all(these, prices[number], positions, costs)
        for number in range(COLUMNS):
            if has_parts[number]:
                _flag_beyond(parts_of[number, :size], counts[number][start:end], flags)
        _answer(positions, facts, answer, flags)
        _refuse_unknown(cache_read_known[start:end], positions, refused, answer, flags)
        near = bound > float(safe)
        flags |= np.uint8(near * _LOOK)
        for place in range(_places(flags, places)):
            at = places[place]
            base, look = np.int64(positions[at]), flags[at] & (_LOOK | _OTHER)
            trait = flags[at] >> (TRAIT_FROM - FLAGS_FROM)
            if base < refused[0]:
                continue
            position, total = base, 0
            if trait & thresholds_trait:
                for number in range(COLUMNS):
                    if kinds[number] & IS_INPUT and counts[number].size:
                        total += counts[number][start + at]
            if trait & requests_trait:
                costs[at] += requests[base]
            if trait & apart_trait and counts[memo].size:
                costs[at] += prices[memo, base] * counts[memo][start + at]
            if not (look or trait & (lacks_trait | decided_trait | apart_trait) or total >= least):
                continue
            for number in range(COLUMNS):
                if counts[number].size:
                    line[number] = counts[number][start + at]
            for level in range(thresholds.shape[0]):
                position += total >= thresholds[level, base]
            if position != base:
                costs[at] = requests[position]
                for number in range(COLUMNS):
                    costs[at] += prices[number, position] * line[number]
                answer[0][at], answer[1][at] = facts[position, 1], facts[position, 0]
                answer[4][at] = facts[position, 1] >> CURRENCY_FROM
            inside[:] = 0
            most = float(requests[position])
            for number in range(COLUMNS):
                inside[whole_of[number]] += line[number]
                most += float(max(prices[number, position], 0)) * float(line[number])
                if lacking[position] >> number & 1 and line[number]:
                    look |= _OTHER
            if not (facts[position, 1] >> TRAIT_FROM) & apart_trait:
                inside[output] -= line[memo]
            for number in range(COLUMNS):
                if inside[number] > line[number]:
                    look |= _OTHER
            if look & _OTHER or trait & decided_trait or (near and most > float(safe)):
                others[found] = start + at
                found += 1
    return found
