"""How does one new token of each sequence attend to its paged context? Straight through the block table, a sequence's kv head at a time.

The query heads of a kv head go together, four by four, so that keys and values are read once and in order. Scores and sums are in float32,
probabilities are rounded to bf16 for their product. Numbers: q, its token stride; keys, values, strides of a slot and of a head;
block tables, entries of a row, lengths, firsts; sequences, kv heads, group, widths of a key and of a value; block size, scale's bits;
out, lse, scratch, bytes of it a thread, counter. `firsts`: tokens before it are out of the window. A row of scratch: a head's scores,
1 / their sum.
"""

from __future__ import annotations

from typing import Any

import numba

from probe.engine.native.arithmetic import as_f32, dot, scaled, total, zero, zero_pairs, zipped_high, zipped_low
from probe.engine.native.lanes import BYTES, jit, thread_count, thread_number
from probe.engine.native.laying import softmax
from probe.engine.native.memory import get_f32, get_i64, load, next_of, pair_of, put_f32, put_sixteen_totals, store_row
from probe.engine.native.pool import COLUMNS

HEADS = 4
"""Query heads that go together, and that a thread takes at a time where there is little to share."""


@jit
def _scores(x: Any, heads: Any, size: Any, key: Any, slot: Any, count: Any, out: Any, row: Any) -> None:
    """q . key of `heads` query heads and `count` keys, `slot` bytes apart; out: of the first head, `row` bytes to the next."""
    done = 0
    while heads - done >= 4:
        _scores_of_four(x + done * size, size, key, slot, count, out + done * row, row)
        done += 4
    while heads > done:
        for i in range(count):
            a = zero()
            for at in range(0, size, BYTES):
                a = dot(a, load(key + i * slot + at), load(x + done * size + at))
            put_f32(out + done * row + 4 * i, total(a))
        done += 1


@jit
def _scores_of_four(x: Any, size: Any, key: Any, slot: Any, count: Any, out: Any, row: Any) -> None:
    """Of four heads, `size` bytes apart; of four keys at a time, as long as there are so many."""
    y, z, t = x + size, x + 2 * size, x + 3 * size
    done = 0
    while count - done >= 4:
        first, second = key + done * slot, key + (done + 1) * slot
        third, fourth = second + slot, second + 2 * slot
        a0, a1, a2, a3 = zero(), zero(), zero(), zero()
        b0, b1, b2, b3 = zero(), zero(), zero(), zero()
        c0, c1, c2, c3 = zero(), zero(), zero(), zero()
        d0, d1, d2, d3 = zero(), zero(), zero(), zero()
        for at in range(0, size, BYTES):
            k0, k1, k2, k3 = load(first + at), load(second + at), load(third + at), load(fourth + at)
            part = load(x + at)
            a0, a1, a2, a3 = dot(a0, k0, part), dot(a1, k1, part), dot(a2, k2, part), dot(a3, k3, part)
            part = load(y + at)
            b0, b1, b2, b3 = dot(b0, k0, part), dot(b1, k1, part), dot(b2, k2, part), dot(b3, k3, part)
            part = load(z + at)
            c0, c1, c2, c3 = dot(c0, k0, part), dot(c1, k1, part), dot(c2, k2, part), dot(c3, k3, part)
            part = load(t + at)
            d0, d1, d2, d3 = dot(d0, k0, part), dot(d1, k1, part), dot(d2, k2, part), dot(d3, k3, part)
        put_sixteen_totals(a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3, out + 4 * done, row)
        done += 4
    for i in range(done, count):
        a, b, c, d = zero(), zero(), zero(), zero()
        for at in range(0, size, BYTES):
            part = load(key + i * slot + at)
            a, b = dot(a, part, load(x + at)), dot(b, part, load(y + at))
            c, d = dot(c, part, load(z + at)), dot(d, part, load(t + at))
        put_f32(out + 4 * i, total(a))
        put_f32(out + row + 4 * i, total(b))
        put_f32(out + 2 * row + 4 * i, total(c))
        put_f32(out + 3 * row + 4 * i, total(d))


@jit
def _weighed(
    n: Any, table: Any, first: Any, last: Any, values: Any, scores: Any, row: Any, heads: Any, out: Any, far: Any
) -> None:
    """Sums of 32 columns of values, and of the 32 that lie `far` bytes on (0: the same once more), by the probabilities of up to four heads
    (those beyond `heads` repeat the last)."""
    slot, size, block = n[4], 2 * n[14], n[15]
    s1, s2, s3 = scores + min(1, heads - 1) * row, scores + min(2, heads - 1) * row, scores + min(3, heads - 1) * row
    a0, a1, a2, a3 = zero(), zero(), zero(), zero()
    b0, b1, b2, b3 = zero(), zero(), zero(), zero()
    c0, c1, c2, c3 = zero(), zero(), zero(), zero()
    d0, d1, d2, d3 = zero(), zero(), zero(), zero()
    for number in range(first // block, (last - 1) // block + 1):
        low, high = max(first, number * block), min(last, (number + 1) * block)
        value = values + (get_i64(table + 8 * number) * block + low - number * block) * slot
        for i in range(2 * (low - first), 2 * (high - first), 4):  # two keys; none behind the last of an odd number
            more = i + 2 < 2 * (high - first)
            one, two = load(value), load(value + slot) if more else zero_pairs()
            left, right = zipped_low(one, two), zipped_high(one, two)
            one, two = load(value + far), load(value + far + slot) if more else zero_pairs()
            left_too, right_too = zipped_low(one, two), zipped_high(one, two)
            p = pair_of(scores + i)
            a0, a1, a2, a3 = dot(a0, left, p), dot(a1, right, p), dot(a2, left_too, p), dot(a3, right_too, p)
            p = pair_of(s1 + i)
            b0, b1, b2, b3 = dot(b0, left, p), dot(b1, right, p), dot(b2, left_too, p), dot(b3, right_too, p)
            p = pair_of(s2 + i)
            c0, c1, c2, c3 = dot(c0, left, p), dot(c1, right, p), dot(c2, left_too, p), dot(c3, right_too, p)
            p = pair_of(s3 + i)
            d0, d1, d2, d3 = dot(d0, left, p), dot(d1, right, p), dot(d2, left_too, p), dot(d3, right_too, p)
            value += 2 * slot
    _put(a0, a1, a2, a3, far, scores, row, out)
    if heads > 1:
        _put(b0, b1, b2, b3, far, s1, row, out + size)
    if heads > 2:
        _put(c0, c1, c2, c3, far, s2, row, out + 2 * size)
    if heads > 3:
        _put(d0, d1, d2, d3, far, s3, row, out + 3 * size)


@jit
def _put(first: Any, second: Any, third: Any, fourth: Any, far: Any, scores: Any, row: Any, out: Any) -> None:
    share = get_f32(scores + row - BYTES)
    store_row(out, scaled(first, share))
    store_row(out + 2 * COLUMNS, scaled(second, share))
    store_row(out + far, scaled(third, share))
    store_row(out + far + 2 * COLUMNS, scaled(fourth, share))


@jit
def _attend(n: Any, sequence: Any, head: Any, start: Any, count: Any, scratch: Any) -> None:
    """One kv head of one sequence, `count` of its query heads from `start` on."""
    slot, kv_heads, group, block, size, width = n[4], n[11], n[12], n[15], 2 * n[13], 2 * n[14]
    scale = as_f32(numba.int32(n[16]))
    table = n[6] + 8 * sequence * n[7]
    last, first = get_i64(n[8] + 8 * sequence), get_i64(n[9] + 8 * sequence)
    # One more at least: an odd number of keys in a block is read in pairs.
    end = -(-(last - first + 1) // COLUMNS) * COLUMNS
    row = 4 * end + BYTES
    q = n[0] + sequence * n[1] + (head * group + start) * size
    keys, values = n[2] + head * n[5], n[3] + head * n[5]
    for number in range(first // block, (last - 1) // block + 1):
        low, high = max(first, number * block), min(last, (number + 1) * block)
        key = keys + (get_i64(table + 8 * number) * block + low - number * block) * slot
        _scores(q, count, size, key, slot, high - low, scratch + 4 * (low - first), row)
    at = (sequence * kv_heads + head) * group + start
    for i in range(count):
        share, lse = softmax(scratch + i * row, 0, last - first, end, scale)
        put_f32(scratch + (i + 1) * row - BYTES, share)
        put_f32(n[18] + 4 * (at + i), lse)
    for i in range(0, count, 4):
        for column in range(0, width, 2 * BYTES):
            scores, out, far = scratch + i * row, n[17] + width * (at + i) + column, min(BYTES, width - column - BYTES)
            _weighed(n, table, first, last, values + column, scores, row, min(4, count - i), out, far)


def decode(n: Any) -> None:
    """out [sequences, heads, width of a value] and the log-sum-exp [sequences, heads] of scaled scores."""
    scratch = n[19] + thread_number() * n[20]
    items, group = n[10] * n[11], n[12]
    taken = group if items >= 4 * thread_count() else HEADS  # the keys of few items are read by several threads
    parts = -(-group // taken)
    item = next_of(n[21])
    while item < items * parts:
        head, start = item // parts, item % parts * taken
        _attend(n, head // n[11], head % n[11], start, min(taken, group - start), scratch)
        item = next_of(n[21])
