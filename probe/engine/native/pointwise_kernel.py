"""What happens to a token between two products? A sum and its RMS norm; heads turned by their position and written to the cache; a gate.

Threads take tokens in equal stretches; a kernel that is called outside of torch's threads does all of them.
"""

from __future__ import annotations

import math
from typing import Any

import numba

from probe.engine.native.arithmetic import (
    dot,
    evens,
    exponential,
    joined,
    larger,
    minus,
    mul,
    odds,
    over,
    plus,
    scaled,
    splat,
    total,
    zero,
)
from probe.engine.native.lanes import BYTES, jit, thread_count, thread_number
from probe.engine.native.memory import get_i64, load, store


@jit
def _normed(x: Any, weight: Any, size: Any, eps: Any, out: Any) -> None:
    """`size` in bytes of bf16."""
    squares = zero()
    for at in range(0, size, BYTES):
        part = load(x + at)
        squares = dot(squares, part, part)
    factor = numba.float32(1 / math.sqrt(2 * total(squares) / size + eps))
    for at in range(0, size, BYTES):
        part, by = load(x + at), load(weight + at)
        even, odd = scaled(mul(evens(part), evens(by)), factor), scaled(mul(odds(part), odds(by)), factor)
        store(out + at, joined(even, odd))


@jit
def _added(x: Any, y: Any, size: Any, out: Any) -> None:
    for at in range(0, size, BYTES):
        one, other = load(x + at), load(y + at)
        store(out + at, joined(plus(evens(one), evens(other)), plus(odds(one), odds(other))))


@jit
def _turned(x: Any, cos: Any, sin: Any, half: Any, out: Any) -> None:
    """Rotary angles of the halves (RoFormer, as Llama lays them out), `half` in bytes."""
    for at in range(0, half, BYTES):
        first, second, c, s = load(x + at), load(x + half + at), load(cos + at), load(sin + at)
        even = minus(mul(evens(first), evens(c)), mul(evens(second), evens(s)))
        odd = minus(mul(odds(first), odds(c)), mul(odds(second), odds(s)))
        store(out + at, joined(even, odd))
        even = plus(mul(evens(second), evens(c)), mul(evens(first), evens(s)))
        odd = plus(mul(odds(second), odds(c)), mul(odds(first), odds(s)))
        store(out + half + at, joined(even, odd))


def norm_of_sum(n: Any) -> None:
    """Numbers: x, y (0: none), weight, sum, normed, tokens, bytes of one, eps in units of 1e-12. sum = x + y, normed its RMS norm."""
    tokens, size, eps = n[5], n[6], n[7] * 1e-12
    first, last = tokens * thread_number() // thread_count(), tokens * (thread_number() + 1) // thread_count()
    for at in range(first * size, last * size, size):
        source = n[0] + at
        if n[1] != 0:
            _added(source, n[1] + at, size, n[3] + at)
            source = n[3] + at
        _normed(source, n[2], size, eps, n[4] + at)


def turn_and_write(n: Any) -> None:
    """Numbers: qkv, tokens, heads, kv heads, bytes of a head, cos, sin, q norm, k norm (0: none), eps in units of 1e-12, q out, keys,
    values, strides of a slot and of a head, slots. Queries to `q out` [tokens, heads, width], keys and values to the cache."""
    tokens, heads, kv_heads, size, eps = n[1], n[2], n[3], n[4], n[9] * 1e-12
    for token in range(tokens * thread_number() // thread_count(), tokens * (thread_number() + 1) // thread_count()):
        x = n[0] + token * (heads + 2 * kv_heads) * size
        cos, sin = n[5] + token * (size // 2), n[6] + token * (size // 2)
        slot = get_i64(n[15] + 8 * token) * n[13]
        for head in range(heads + kv_heads):
            source, norm = x + head * size, n[7] if head < heads else n[8]
            out = n[10] + (token * heads + head) * size if head < heads else n[11] + slot + (head - heads) * n[14]
            if norm != 0:
                _normed(source, norm, size, eps, source)
            _turned(source, cos, sin, size // 2, out)
        for head in range(kv_heads):
            source, out = x + (heads + kv_heads + head) * size, n[12] + slot + head * n[14]
            for at in range(0, size, BYTES):
                store(out + at, load(source + at))


def gate(n: Any) -> None:
    """Numbers: x [tokens, 2 width], tokens, bytes of a width, out [tokens, width]: silu of the first half times the second."""
    tokens, size, one, least = n[1], n[2], splat(numba.float32(1)), splat(numba.float32(-88))
    for token in range(tokens * thread_number() // thread_count(), tokens * (thread_number() + 1) // thread_count()):
        x, out = n[0] + 2 * token * size, n[3] + token * size
        for at in range(0, size, BYTES):
            first, second = load(x + at), load(x + size + at)
            even, odd = larger(evens(first), least), larger(odds(first), least)
            even = mul(over(even, plus(one, exponential(minus(zero(), even)))), evens(second))
            odd = mul(over(odd, plus(one, exponential(minus(zero(), odd)))), odds(second))
            store(out + at, joined(even, odd))
