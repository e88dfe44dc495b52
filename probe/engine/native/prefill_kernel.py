"""How do several new tokens of a sequence attend to its paged context? Keys and values are laid out as panels, then six tokens go together.

Scores, softmax and sums are in float32, probabilities go to the second product in bf16 (as in FlashAttention, arXiv:2205.14135). A tile has
room for all its scores, so none is rescaled. Numbers of both kernels: q, out, log-sum-exp; keys, values, strides of a slot and of a head;
kv heads, group, widths of a key and of a value, block size, scale's bits, window; block tables, entries of a row; facts of each sequence
(its first row, new tokens, past ones, the first key laid, where in the panels), sequences; panels; chunks (a sequence, its first token),
their number; scratch, bytes of it a thread, counter.
"""

from __future__ import annotations

from typing import Any

import numba

from probe.engine.native.arithmetic import as_f32, scaled
from probe.engine.native.lanes import BYTES, jit, thread_count, thread_number
from probe.engine.native.laying import find, lay_keys, lay_values, softmax
from probe.engine.native.memory import get_f32, get_i64, load_f32, next_of, put_f32, store_row
from probe.engine.native.pool import CHUNK, COLUMNS, FACTS, KEYS, PANELS, ROWS
from probe.engine.native.tile import SUMS, tile


@jit
def _column(keys: Any) -> Any:
    """Bytes of one column of panels of so many keys."""
    return -(-keys // KEYS) * KEYS * 2


@jit
def _lay(n: Any, sequence: Any, head: Any, number: Any, places: Any) -> None:
    """Sixteen keys and values of one head."""
    fact, size = n[16] + 8 * FACTS * sequence, 2 * n[9]
    table, low = n[14] + 8 * n[15] * sequence, get_i64(fact + 24)
    past = get_i64(fact + 16)
    seen, end = max(0, past - n[13] + 1), get_i64(fact + 8) + past
    column = _column(end - low)
    panels = n[18] + get_i64(fact + 32) + column * (n[9] + n[10]) * head
    first = COLUMNS * number
    find(table, n[11], n[5], low + first, seen, end, places)
    lay_keys(places, n[3] + head * n[6], size, panels + first * size)
    lay_values(places, n[4] + head * n[6], 2 * n[10], panels + column * n[9] + first // 2 * BYTES, column * COLUMNS)


def lay(n: Any) -> None:
    """All visible keys and values of all sequences, as panels."""
    places = n[21] + thread_number() * n[22]
    for sequence in range(n[17]):
        fact = n[16] + 8 * FACTS * sequence
        panels = -(-(get_i64(fact + 8) + get_i64(fact + 16) - get_i64(fact + 24)) // COLUMNS)
        items = panels * n[7]
        for item in range(items * thread_number() // thread_count(), items * (thread_number() + 1) // thread_count()):
            _lay(n, sequence, item // panels, item % panels, places)


@jit
def _attend(n: Any, sequence: Any, head: Any, first: Any, rows: Any, scratch: Any) -> None:
    """`rows` tokens of one head, from the sequence's new token `first` on."""
    heads, window, scale = n[7] * n[8], n[13], as_f32(numba.int32(n[12]))
    fact, size, width = n[16] + 8 * FACTS * sequence, 2 * n[9], n[10]
    past, low = get_i64(fact + 16), get_i64(fact + 24)
    count = get_i64(fact + 8) + past - low
    of_column = _column(count)
    keys = n[18] + get_i64(fact + 32) + of_column * (n[9] + width) * (head // n[8])
    position = past + first - low
    start = max(0, position - window + 1) // KEYS
    stop = -(-(position + rows) // KEYS)
    row, scores = 4 * KEYS * (stop - start) + BYTES, scratch + SUMS
    token = get_i64(fact) + first
    q = n[0] + (token * heads + head) * size
    for number in range(start, stop):
        panel, of_panel = keys + number * KEYS * size, COLUMNS * size
        tile(
            *(rows, q, heads * size, panel, panel + of_panel, panel + 2 * of_panel, panel + 3 * of_panel, n[9] // 2),
            *(scores + (number - start) * 4 * KEYS, row, 0),
        )
    end = -(-(position + rows - KEYS * start) // COLUMNS) * COLUMNS
    for i in range(rows):
        seen = max(0, position + i - window + 1) - KEYS * start, position + i + 1 - KEYS * start
        share, lse = softmax(scores + i * row, seen[0], seen[1], end, scale)
        put_f32(scores + (i + 1) * row - BYTES, share)
        put_f32(n[2] + 4 * ((token + i) * heads + head), lse)
    values, height = keys + of_column * n[9] + start * KEYS // 2 * BYTES, of_column * COLUMNS
    pairs = (position + rows - KEYS * start + 1) // 2
    for column in range(0, width, KEYS):
        panel, last = values + column // COLUMNS * height, (width - column) // COLUMNS - 1
        tile(
            *(rows, scores, row, panel, panel + min(1, last) * height, panel + min(2, last) * height),
            *(panel + min(3, last) * height, pairs, scratch, PANELS * BYTES, 0),
        )
        for i in range(rows):
            share = get_f32(scores + (i + 1) * row - BYTES)
            to = n[1] + 2 * (((token + i) * heads + head) * width + column)
            for which in range(min(PANELS, last + 1)):
                store_row(to + 2 * COLUMNS * which, scaled(load_f32(scratch + (i * PANELS + which) * BYTES), share))


def prefill(n: Any) -> None:
    """out [tokens, heads, width of a value] and the log-sum-exp [tokens, heads] of scaled scores, at the rows of the new tokens."""
    scratch = n[21] + thread_number() * n[22]
    heads = n[7] * n[8]
    item = next_of(n[23])
    while item < n[20] * heads:
        chunk = n[19] + 16 * (item // heads)
        sequence, first = get_i64(chunk), get_i64(chunk + 8)
        last = min(first + CHUNK, get_i64(n[16] + 8 * FACTS * sequence + 8))
        for token in range(first, last, ROWS):
            _attend(n, sequence, item % heads, token, min(ROWS, last - token), scratch)
        item = next_of(n[23])
