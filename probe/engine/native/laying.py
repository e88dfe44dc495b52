"""How do keys and values of a paged cache become panels, which a tile multiplies by? Sixteen keys at a time, wherever their blocks lie."""

from __future__ import annotations

import math
from typing import Any

import numba

from probe.engine.native.arithmetic import (
    exponential,
    larger,
    largest,
    minus,
    plus,
    scaled,
    splat,
    total,
    zero,
    zipped_high,
    zipped_low,
)
from probe.engine.native.lanes import BYTES, jit
from probe.engine.native.memory import get_i64, load, load_f32, put_f32, put_i64, store, store_row, turn
from probe.engine.native.pool import COLUMNS

LIST = 8 * COLUMNS
"""Bytes of the places of a panel's keys."""


@jit
def find(table: Any, block: Any, slot: Any, key: Any, first: Any, last: Any, to: Any) -> None:
    """Bytes from the first slot to `key` and the fifteen behind it; before `first` those of it, from `last` on those of the one before it.

    Keys outside [first, last) have a weight, if a tiny one, and in their slots may be another's numbers, or none.
    """
    if block % COLUMNS == 0 and key >= first:
        place = (get_i64(table + 8 * (key // block)) * block + key % block) * slot
        for i in range(COLUMNS):
            put_i64(to + 8 * i, place + min(i, last - 1 - key) * slot)
        return
    for i in range(COLUMNS):
        one = min(max(key + i, first), last - 1)
        put_i64(to + 8 * i, (get_i64(table + 8 * (one // block)) * block + one % block) * slot)


@jit
def lay_keys(places: Any, keys: Any, size: Any, out: Any) -> None:
    """Sixteen keys of `size` bytes as a panel [width / 2, 16 keys]."""
    for at in range(0, size, BYTES):
        turn(places, keys + at, out + at * COLUMNS)


@jit
def lay_values(places: Any, values: Any, size: Any, out: Any, height: Any) -> None:
    """Sixteen values as eight rows of panels [keys / 2, 16 columns], `height` bytes from one to the next."""
    for i in range(0, LIST, 16):
        one, other = values + get_i64(places + i), values + get_i64(places + i + 8)
        for at in range(0, size, BYTES):
            first, second, to = load(one + at), load(other + at), out + at // BYTES * 2 * height + i // 16 * BYTES
            store(to, zipped_low(first, second))
            store(to + height, zipped_high(first, second))


@jit
def softmax(row: Any, first: Any, last: Any, end: Any, scale: Any) -> Any:
    """Scores [end] in float32 to probabilities times their sum, in bf16, from the same place on; 1 / their sum, and the log-sum-exp.

    Keys outside [first, last) get e^-87. `end` is a multiple of 16.
    """
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
    return numba.float32(1) / added, top + numba.float32(math.log(added))
