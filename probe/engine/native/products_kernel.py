"""How are few tokens multiplied by a weight as fast as memory gives it? Four of its rows at a time, each read once, in order.

Sums of a token are the same however many tokens come with it: bf16 products, each row's in one register of float32. Numbers: x, weight,
out, tokens, bytes of a row of x and of the weight, rows, bias (0: none), scratch, bytes of it a thread (16 a token).
"""

from __future__ import annotations

import math
from typing import Any

import numba

from probe.engine.native.lanes import BYTES, dot, jit, thread_count, thread_number, zero
from probe.engine.native.memory import get_bf16, get_f32, load, put_bf16, put_totals


@jit
def _one(x: Any, size: Any, row: Any, below: Any, rows: Any, sums: Any) -> None:
    a0, a1, a2, a3 = zero(), zero(), zero(), zero()
    for at in range(0, size, BYTES):
        first, second, third, fourth = load(row + at), load(below + at), load(row + rows + at), load(below + rows + at)
        part = load(x + at)
        a0, a1 = dot(a0, first, part), dot(a1, second, part)
        a2, a3 = dot(a2, third, part), dot(a3, fourth, part)
    put_totals(a0, a1, a2, a3, numba.float32(1), sums, 4)


@jit
def _two(x: Any, size: Any, row: Any, below: Any, rows: Any, sums: Any) -> None:
    y = x + size
    a0, a1, a2, a3 = zero(), zero(), zero(), zero()
    b0, b1, b2, b3 = zero(), zero(), zero(), zero()
    for at in range(0, size, BYTES):
        first, second, third, fourth = load(row + at), load(below + at), load(row + rows + at), load(below + rows + at)
        part = load(x + at)
        a0, a1 = dot(a0, first, part), dot(a1, second, part)
        a2, a3 = dot(a2, third, part), dot(a3, fourth, part)
        part = load(y + at)
        b0, b1 = dot(b0, first, part), dot(b1, second, part)
        b2, b3 = dot(b2, third, part), dot(b3, fourth, part)
    put_totals(a0, a1, a2, a3, numba.float32(1), sums, 4)
    put_totals(b0, b1, b2, b3, numba.float32(1), sums + 16, 4)


@jit
def _four(x: Any, size: Any, row: Any, below: Any, rows: Any, sums: Any) -> None:
    """Of four tokens, `size` bytes apart; rows: of x bytes: row, below, and both of them `rows` bytes further on."""
    y, z, t = x + size, x + 2 * size, x + 3 * size
    a0, a1, a2, a3 = zero(), zero(), zero(), zero()
    b0, b1, b2, b3 = zero(), zero(), zero(), zero()
    c0, c1, c2, c3 = zero(), zero(), zero(), zero()
    d0, d1, d2, d3 = zero(), zero(), zero(), zero()
    for at in range(0, size, BYTES):
        first, second, third, fourth = load(row + at), load(below + at), load(row + rows + at), load(below + rows + at)
        part = load(x + at)
        a0, a1 = dot(a0, first, part), dot(a1, second, part)
        a2, a3 = dot(a2, third, part), dot(a3, fourth, part)
        part = load(y + at)
        b0, b1 = dot(b0, first, part), dot(b1, second, part)
        b2, b3 = dot(b2, third, part), dot(b3, fourth, part)
        part = load(z + at)
        c0, c1 = dot(c0, first, part), dot(c1, second, part)
        c2, c3 = dot(c2, third, part), dot(c3, fourth, part)
        part = load(t + at)
        d0, d1 = dot(d0, first, part), dot(d1, second, part)
        d2, d3 = dot(d2, third, part), dot(d3, fourth, part)
    put_totals(a0, a1, a2, a3, numba.float32(1), sums, 4)
    put_totals(b0, b1, b2, b3, numba.float32(1), sums + 16, 4)
    put_totals(c0, c1, c2, c3, numba.float32(1), sums + 32, 4)
    put_totals(d0, d1, d2, d3, numba.float32(1), sums + 48, 4)


@jit
def _sums(n: Any, row: Any, sums: Any) -> None:
    """[tokens, 4]: a row of the first quarter, its like in the other three. Where the half is odd, its last row is done twice."""
    x, tokens, size, half = n[0], n[3], n[4], n[5] // 2
    quarter = (half + 1) // 2
    at, rows = n[1] + row * size, half * size
    below = at + quarter * size if row + quarter < half else at
    done = 0
    while tokens - done >= 4:
        _four(x + done * size, size, at, below, rows, sums + 16 * done)
        done += 4
    if tokens - done >= 2:
        _two(x + done * size, size, at, below, rows, sums + 16 * done)
        done += 2
    if tokens > done:
        _one(x + done * size, size, at, below, rows, sums + 16 * done)


@jit
def _biased(n: Any, sums: Any, token: Any, which: Any, row: Any) -> Any:
    value = get_f32(sums + 16 * token + 4 * which)
    return value if n[6] == 0 else value + get_bf16(n[6] + 2 * row)


def product(n: Any) -> None:
    """out [tokens, rows]."""
    out, tokens, rows, half = n[2], n[3], n[5], n[5] // 2
    sums, quarter = n[7] + thread_number() * n[8], (half + 1) // 2
    for first in range(quarter * thread_number() // thread_count(), quarter * (thread_number() + 1) // thread_count()):
        _sums(n, first, sums)
        for which in range(2):
            row = first + which * quarter
            if row < half:
                for token in range(tokens):
                    to = out + 2 * (token * rows + row)
                    put_bf16(to, _biased(n, sums, token, which, row))
                    put_bf16(to + 2 * half, _biased(n, sums, token, which + 2, row + half))


def gated_product(n: Any) -> None:
    """out [tokens, rows / 2]: silu of the upper half's rows times the lower half's."""
    out, tokens, half = n[2], n[3], n[5] // 2
    sums, quarter = n[7] + thread_number() * n[8], (half + 1) // 2
    for first in range(quarter * thread_number() // thread_count(), quarter * (thread_number() + 1) // thread_count()):
        _sums(n, first, sums)
        for which in range(2):
            row = first + which * quarter
            if row < half:
                for token in range(tokens):
                    gate, up = _biased(n, sums, token, which, row), _biased(n, sums, token, which + 2, row + half)
                    value = gate / (numba.float32(1) + numba.float32(math.exp(-gate))) * up
                    put_bf16(out + 2 * (token * half + row), value)
