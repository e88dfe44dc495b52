"""How do several new tokens of a sequence attend to its paged context? Keys and values are laid out as panels, then six tokens go together.

Scores, softmax and sums are in float32, probabilities go to the second product in bf16 (as in FlashAttention, arXiv:2205.14135). A tile has
room for all its scores, so none is rescaled. Numbers of both kernels: q, out, log-sum-exp; keys, values, strides of a slot and of a head;
kv heads, group, width, block size, scale's bits, window; block tables, entries of a row; facts of each sequence (its first row, new
tokens, past ones, the first key laid, where in the panels), sequences; panels; chunks (a sequence, its first token), their number;
scratch, bytes of it a thread, counter.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from probe.engine.native.arithmetic import (
    as_f32,
    exponential,
    larger,
    largest,
    minus,
    plus,
    scaled,
    splat,
    total,
    zero,
    zero_pairs,
    zipped_high,
    zipped_low,
)
from probe.engine.native.lanes import BYTES, jit, thread_count, thread_number
from probe.engine.native.memory import (
    get_f32,
    get_i32,
    get_i64,
    load,
    load_f32,
    next_of,
    put_f32,
    put_i32,
    store,
    store_row,
)
from probe.engine.native.pool import CHUNK, COLUMNS, FACTS
from probe.engine.native.tile import PANELS, ROWS, SUMS, tile

KEYS = PANELS * COLUMNS
"""Of a tile of scores."""


@jit
def _room(n: Any, keys: Any) -> Any:
    """Bytes of one head's panels of keys; those of its values take as many."""
    return -(-keys // KEYS) * KEYS * 2 * n[9]


@jit
def _row_of(n: Any, table: Any, key: Any) -> Any:
    """Bytes from the first slot to a key's."""
    block = n[10]
    return (get_i64(table + 8 * (key // block)) * block + key % block) * n[5]


@jit
def _lay(n: Any, sequence: Any, head: Any, number: Any) -> None:
    """Sixteen keys of one head as a panel [width / 2, 16 keys], and their values as rows of the panels [keys / 2, 16 columns]."""
    fact, size = n[15] + 8 * FACTS * sequence, 2 * n[9]
    table, low = n[13] + 8 * n[14] * sequence, get_i64(fact + 24)
    count = get_i64(fact + 8) + get_i64(fact + 16) - low
    room = _room(n, count)
    panels = n[17] + get_i64(fact + 32) + 2 * room * head
    first, last = COLUMNS * number, min(count, COLUMNS * (number + 1))
    for i in range(first, last):
        source, to = n[3] + head * n[6] + _row_of(n, table, low + i), panels + first * size + 4 * (i - first)
        for at in range(0, size, 4):
            put_i32(to + at * COLUMNS, get_i32(source + at))
    values, height = n[4] + head * n[6], room // size * 2 * COLUMNS
    for i in range(first, last, 2):
        source = values + _row_of(n, table, low + i)
        other = values + _row_of(n, table, low + min(i + 1, count - 1))
        for at in range(0, size, BYTES):
            one, two = load(source + at), load(other + at) if i + 1 < count else zero_pairs()
            to = panels + room + (at // BYTES) * 2 * height + i // 2 * BYTES
            store(to, zipped_low(one, two))
            store(to + height, zipped_high(one, two))


def lay(n: Any) -> None:
    """All visible keys and values of all sequences, as panels."""
    for sequence in range(n[16]):
        fact = n[15] + 8 * FACTS * sequence
        panels = -(-(get_i64(fact + 8) + get_i64(fact + 16) - get_i64(fact + 24)) // COLUMNS)
        items = panels * n[7]
        for item in range(items * thread_number() // thread_count(), items * (thread_number() + 1) // thread_count()):
            _lay(n, sequence, item // panels, item % panels)


@jit
def _softmax(row: Any, first: Any, last: Any, end: Any, scale: Any) -> Any:
    """Scores [end] in float32 to probabilities times their sum, in bf16, from the same place on; the sum, and log-sum-exp. Keys outside
    [first, last) are not seen. `end` is a multiple of 16."""
    for key in range(first):
        put_f32(row + 4 * key, numba.float32(-math.inf))
    for key in range(last, end):
        put_f32(row + 4 * key, numba.float32(-math.inf))
    most = load_f32(row)
    for at in range(BYTES, 4 * end, BYTES):
        most = larger(most, load_f32(row + at))
    top = largest(most) * scale
    shift, whole = splat(top), zero()
    for at in range(0, 4 * end, BYTES):
        one = exponential(minus(scaled(load_f32(row + at), scale), shift))
        store_row(row + at // 2, one)
        whole = plus(whole, one)
    added = total(whole)
    return added, top + numba.float32(math.log(added))


@jit
def _attend(n: Any, sequence: Any, head: Any, first: Any, rows: Any, scratch: Any) -> None:
    """`rows` tokens of one head, from the sequence's new token `first` on."""
    width, heads, window, scale = n[9], n[7] * n[8], n[12], as_f32(numba.int32(n[11]))
    fact, size = n[15] + 8 * FACTS * sequence, 2 * width
    past, low = get_i64(fact + 16), get_i64(fact + 24)
    count = get_i64(fact + 8) + past - low
    room = _room(n, count)
    keys = n[17] + get_i64(fact + 32) + 2 * room * (head // n[8])
    position = past + first - low
    start = max(0, position - window + 1) // KEYS
    stop = -(-(position + rows) // KEYS)
    row, scores = 4 * KEYS * (stop - start) + BYTES, scratch + SUMS
    token = get_i64(fact) + first
    q = n[0] + (token * heads + head) * size
    for number in range(start, stop):
        panel, of_panel = keys + number * KEYS * size, COLUMNS * size
        tile(
            *(rows, q, heads * size, panel, panel + of_panel, panel + 2 * of_panel, panel + 3 * of_panel, width // 2),
            *(scores + (number - start) * 4 * KEYS, row),
        )
    end = -(-(position + rows - KEYS * start) // COLUMNS) * COLUMNS
    for i in range(rows):
        seen = max(0, position + i - window + 1) - KEYS * start, position + i + 1 - KEYS * start
        added, lse = _softmax(scores + i * row, seen[0], seen[1], end, scale)
        put_f32(scores + i * row + row - BYTES, numba.float32(1) / added)
        put_f32(n[2] + 4 * ((token + i) * heads + head), lse)
    values, height, pairs = (
        keys + room + start * KEYS // 2 * BYTES,
        room // size * 2 * COLUMNS,
        (position + rows - KEYS * start + 1) // 2,
    )
    for column in range(0, width, KEYS):
        panel, last = values + column // COLUMNS * height, (width - column) // COLUMNS - 1
        tile(
            *(rows, scores, row, panel, panel + min(1, last) * height, panel + min(2, last) * height),
            *(panel + min(3, last) * height, pairs, scratch, PANELS * BYTES),
        )
        for i in range(rows):
            share = get_f32(scores + i * row + row - BYTES)
            to = n[1] + ((token + i) * heads + head) * size + 2 * column
            for which in range(min(PANELS, last + 1)):
                store_row(to + 2 * COLUMNS * which, scaled(load_f32(scratch + (i * PANELS + which) * BYTES), share))


def prefill(n: Any) -> None:
    """out [tokens, heads, width] and the log-sum-exp [tokens, heads] of scaled scores, at the rows of the sequences' new tokens."""
    scratch = n[20] + thread_number() * n[21]
    heads = n[7] * n[8]
    item = next_of(n[22])
    while item < n[19] * heads:
        chunk = n[18] + 16 * (item // heads)
        sequence, first = get_i64(chunk), get_i64(chunk + 8)
        last = min(first + CHUNK, get_i64(n[15] + 8 * FACTS * sequence + 8))
        for token in range(first, last, ROWS):
            _attend(n, sequence, item % heads, token, min(ROWS, last - token), scratch)
        item = next_of(n[22])
