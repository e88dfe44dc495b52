"""How are few tokens multiplied by a weight as fast as memory gives it? Two of its rows at a time, each of them read once, in order.

Sums of a token are the same however many tokens come with it: bf16 products, float32 sums in two registers, even and odd stretches of
64 bytes. Numbers: x, weight, out, tokens, bytes of a row of x and of the weight, rows, bias (0: none), scratch.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from probe.engine.native.lanes import (
    BYTES,
    dot,
    get_bf16,
    get_f32,
    jit,
    load,
    plus,
    put_bf16,
    put_f32,
    thread_count,
    thread_number,
    total,
    zero,
)

SCRATCH = 256
"""Bytes a thread: sums of two rows by token."""


@jit
def _one(x: Any, upper: Any, lower: Any, size: Any, sums: Any) -> None:
    a0, a1, b0, b1 = zero(), zero(), zero(), zero()
    for at in range(0, size, 2 * BYTES):
        even, odd = load(x + at), load(x + at + BYTES)
        a0, a1 = dot(a0, load(upper + at), even), dot(a1, load(upper + at + BYTES), odd)
        b0, b1 = dot(b0, load(lower + at), even), dot(b1, load(lower + at + BYTES), odd)
    put_f32(sums, total(plus(a0, a1)))
    put_f32(sums + 4, total(plus(b0, b1)))


@jit
def _two(x: Any, upper: Any, lower: Any, size: Any, sums: Any) -> None:
    y = x + size
    a0, a1, b0, b1 = zero(), zero(), zero(), zero()
    c0, c1, d0, d1 = zero(), zero(), zero(), zero()
    for at in range(0, size, 2 * BYTES):
        up, low = load(upper + at), load(lower + at)
        a0, b0 = dot(a0, up, load(x + at)), dot(b0, low, load(x + at))
        c0, d0 = dot(c0, up, load(y + at)), dot(d0, low, load(y + at))
        up, low = load(upper + at + BYTES), load(lower + at + BYTES)
        a1, b1 = dot(a1, up, load(x + at + BYTES)), dot(b1, low, load(x + at + BYTES))
        c1, d1 = dot(c1, up, load(y + at + BYTES)), dot(d1, low, load(y + at + BYTES))
    put_f32(sums, total(plus(a0, a1)))
    put_f32(sums + 4, total(plus(b0, b1)))
    put_f32(sums + 8, total(plus(c0, c1)))
    put_f32(sums + 12, total(plus(d0, d1)))


@jit
def _four(x: Any, upper: Any, lower: Any, size: Any, sums: Any) -> None:
    y, z, t = x + size, x + 2 * size, x + 3 * size
    a0, a1, b0, b1 = zero(), zero(), zero(), zero()
    c0, c1, d0, d1 = zero(), zero(), zero(), zero()
    e0, e1, f0, f1 = zero(), zero(), zero(), zero()
    g0, g1, h0, h1 = zero(), zero(), zero(), zero()
    for at in range(0, size, 2 * BYTES):
        up, low = load(upper + at), load(lower + at)
        a0, b0 = dot(a0, up, load(x + at)), dot(b0, low, load(x + at))
        c0, d0 = dot(c0, up, load(y + at)), dot(d0, low, load(y + at))
        e0, f0 = dot(e0, up, load(z + at)), dot(f0, low, load(z + at))
        g0, h0 = dot(g0, up, load(t + at)), dot(h0, low, load(t + at))
        up, low = load(upper + at + BYTES), load(lower + at + BYTES)
        a1, b1 = dot(a1, up, load(x + at + BYTES)), dot(b1, low, load(x + at + BYTES))
        c1, d1 = dot(c1, up, load(y + at + BYTES)), dot(d1, low, load(y + at + BYTES))
        e1, f1 = dot(e1, up, load(z + at + BYTES)), dot(f1, low, load(z + at + BYTES))
        g1, h1 = dot(g1, up, load(t + at + BYTES)), dot(h1, low, load(t + at + BYTES))
    put_f32(sums, total(plus(a0, a1)))
    put_f32(sums + 4, total(plus(b0, b1)))
    put_f32(sums + 8, total(plus(c0, c1)))
    put_f32(sums + 12, total(plus(d0, d1)))
    put_f32(sums + 16, total(plus(e0, e1)))
    put_f32(sums + 20, total(plus(f0, f1)))
    put_f32(sums + 24, total(plus(g0, g1)))
    put_f32(sums + 28, total(plus(h0, h1)))


@jit
def _sums(x: Any, tokens: Any, upper: Any, lower: Any, size: Any, sums: Any) -> None:
    """[tokens, 2] of both rows."""
    done = 0
    while tokens - done >= 4:
        _four(x + done * size, upper, lower, size, sums + 8 * done)
        done += 4
    if tokens - done >= 2:
        _two(x + done * size, upper, lower, size, sums + 8 * done)
        done += 2
    if tokens > done:
        _one(x + done * size, upper, lower, size, sums + 8 * done)


def product(n: Any) -> None:
    """out [tokens, rows]."""
    x, weight, out, tokens, size, rows, bias = n[0], n[1], n[2], n[3], n[4], n[5], n[6]
    sums = n[7] + thread_number() * SCRATCH
    half = rows // 2
    first, last = half * thread_number() // thread_count(), half * (thread_number() + 1) // thread_count()
    for row in range(first, last):
        _sums(x, tokens, weight + row * size, weight + (row + half) * size, size, sums)
        for token in range(tokens):
            for which in range(2):
                value = get_f32(sums + 8 * token + 4 * which)
                at = 2 * (row + which * half)
                if bias != 0:
                    value += get_bf16(bias + at)
                put_bf16(out + 2 * token * rows + at, value)


def gated_product(n: Any) -> None:
    """out [tokens, rows / 2]: silu of the upper half's rows times the lower half's. Each is rounded to bf16 first, as torch does."""
    x, weight, out, tokens, size, rows, bias = n[0], n[1], n[2], n[3], n[4], n[5], n[6]
    sums = n[7] + thread_number() * SCRATCH
    half = rows // 2
    first, last = half * thread_number() // thread_count(), half * (thread_number() + 1) // thread_count()
    for row in range(first, last):
        _sums(x, tokens, weight + row * size, weight + (row + half) * size, size, sums)
        for token in range(tokens):
            gate, up = get_f32(sums + 8 * token), get_f32(sums + 8 * token + 4)
            if bias != 0:
                gate += get_bf16(bias + 2 * row)
                up += get_bf16(bias + 2 * (row + half))
            value = gate / (numba.float32(1) + numba.float32(math.exp(-gate))) * up
            put_bf16(out + 2 * (token * half + row), value)
