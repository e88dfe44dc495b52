"""How does one new token of each sequence attend to its paged context? Straight through the block table, a sequence's kv head at a time.

The query heads of a kv head go together, so that keys and values are read once. Softmax in float32; keys times queries and
probabilities times values are summed in float32. Numbers: q, its token stride; keys, values, strides of a slot and of a head;
block tables, entries of a row, lengths, firsts; sequences, kv heads, group, width; block size, scale's bits; out, lse, scratch,
bytes of it a thread, counter. `firsts`: tokens before it are out of the window.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from probe.engine.native.arithmetic import (
    as_f32,
    dot,
    evens,
    exponential,
    joined,
    larger,
    largest,
    minus,
    odds,
    plus,
    scaled,
    splat,
    times,
    total,
    zero,
)
from probe.engine.native.lanes import BYTES, jit, thread_number
from probe.engine.native.memory import get_f32, get_i64, load, load_f32, next_of, put_f32, put_totals, store, store_f32


@jit
def _scores(q: Any, heads: Any, width: Any, key: Any, slot: Any, count: Any, scale: Any, out: Any, row: Any) -> None:
    """q . key x scale of `heads` query heads and `count` keys, `slot` bytes apart; out: of the first head, `row` bytes to the next."""
    done, size = 0, 2 * width
    while heads - done >= 4:
        x, to = q + done * size, out + done * row
        y, z, t = x + size, x + 2 * size, x + 3 * size
        for i in range(count):
            a, b, c, d = zero(), zero(), zero(), zero()
            for at in range(0, size, BYTES):
                part = load(key + i * slot + at)
                a, b = dot(a, part, load(x + at)), dot(b, part, load(y + at))
                c, d = dot(c, part, load(z + at)), dot(d, part, load(t + at))
            put_totals(a, b, c, d, scale, to + 4 * i, row)
        done += 4
    while heads > done:
        for i in range(count):
            a = zero()
            for at in range(0, size, BYTES):
                a = dot(a, load(key + i * slot + at), load(q + done * size + at))
            put_f32(out + done * row + 4 * i, total(a) * scale)
        done += 1


@jit
def _softmax(scores: Any, count: Any) -> Any:
    """Scores to exp(score - largest), in place; their sum and the largest. Room up to a multiple of 16 is overwritten."""
    end = scores + 4 * count
    for at in range(end, scores + -(-count // 16) * BYTES, 4):
        put_f32(at, numba.float32(-math.inf))
    most = load_f32(scores)
    for at in range(scores + BYTES, end, BYTES):
        most = larger(most, load_f32(at))
    top = largest(most)
    shift, whole = splat(top), zero()
    for at in range(scores, end, BYTES):
        one = exponential(minus(load_f32(at), shift))
        store_f32(at, one)
        whole = plus(whole, one)
    return total(whole), top


@jit
def _weighed(
    n: Any, table: Any, first: Any, last: Any, values: Any, scores: Any, row: Any, heads: Any, out: Any
) -> None:
    """Sums of values by the probabilities of up to four heads (those beyond `heads` repeat the last), 32 columns at a time."""
    slot, width, block = n[4], n[13], n[14]
    s1, s2, s3 = scores + min(1, heads - 1) * row, scores + min(2, heads - 1) * row, scores + min(3, heads - 1) * row
    one = numba.float32(1)
    w0, w1 = one / get_f32(scores - 4), one / get_f32(s1 - 4)
    w2, w3 = one / get_f32(s2 - 4), one / get_f32(s3 - 4)
    for at in range(0, 2 * width, BYTES):
        a, b, c, d = zero(), zero(), zero(), zero()
        e, f, g, h = zero(), zero(), zero(), zero()
        for number in range(first // block, (last - 1) // block + 1):
            low, high = max(first, number * block), min(last, (number + 1) * block)
            value = values + (get_i64(table + 8 * number) * block + low - number * block) * slot + at
            for i in range(4 * (low - first), 4 * (high - first), 4):
                part = load(value)
                even, odd = evens(part), odds(part)
                p, q, r, s = get_f32(scores + i), get_f32(s1 + i), get_f32(s2 + i), get_f32(s3 + i)
                a, b = times(a, even, p), times(b, odd, p)
                c, d = times(c, even, q), times(d, odd, q)
                e, f = times(e, even, r), times(f, odd, r)
                g, h = times(g, even, s), times(h, odd, s)
                value += slot
        store(out + at, joined(scaled(a, w0), scaled(b, w0)))
        if heads > 1:
            store(out + 2 * width + at, joined(scaled(c, w1), scaled(d, w1)))
        if heads > 2:
            store(out + 4 * width + at, joined(scaled(e, w2), scaled(f, w2)))
        if heads > 3:
            store(out + 6 * width + at, joined(scaled(g, w3), scaled(h, w3)))


@jit
def _attend(n: Any, sequence: Any, head: Any, scratch: Any) -> None:
    """One kv head of one sequence. A row of scratch: the sum of its head, then its scores."""
    slot, kv_heads, group, width, block = n[4], n[11], n[12], n[13], n[14]
    scale = as_f32(numba.int32(n[15]))
    table = n[6] + 8 * sequence * n[7]
    last, first = get_i64(n[8] + 8 * sequence), get_i64(n[9] + 8 * sequence)
    count = last - first
    row = 4 + -(-count // 16) * BYTES
    q = n[0] + sequence * n[1] + head * group * 2 * width
    keys, values = n[2] + head * n[5], n[3] + head * n[5]
    for number in range(first // block, (last - 1) // block + 1):
        low, high = max(first, number * block), min(last, (number + 1) * block)
        key = keys + (get_i64(table + 8 * number) * block + low - number * block) * slot
        _scores(q, group, width, key, slot, high - low, scale, scratch + 4 + 4 * (low - first), row)
    at = sequence * kv_heads * group + head * group
    for i in range(group):
        whole, largest = _softmax(scratch + 4 + i * row, count)
        put_f32(scratch + i * row, whole)
        put_f32(n[17] + 4 * (at + i), largest + numba.float32(math.log(whole)))
    for i in range(0, group, 4):
        _weighed(
            n, table, first, last, values, scratch + 4 + i * row, row, min(4, group - i), n[16] + 2 * width * (at + i)
        )


def decode(n: Any) -> None:
    """out [sequences, heads, width] and the log-sum-exp [sequences, heads] of scaled scores."""
    scratch = n[18] + thread_number() * n[19]
    items = n[10] * n[11]
    item = next_of(n[20])
    while item < items:
        _attend(n, item // n[11], item % n[11], scratch)
        item = next_of(n[20])
