"""How are tokens multiplied by a weight, few as fast as memory gives it, many as fast as the processor multiplies? By tiles.

Threads take stretches of all tiles, panel by panel, so that a panel that several tiles need is read from memory once. The four panels of
a tile lie a quarter of the weight apart: memory gives four streams faster than one. Numbers: x, panels [panel, in / 2, 16] of two bf16,
out, tokens, bytes of an x, columns, bias (0: none), scratch, bytes of it a thread; of `product` alone, which multiplies by several
matrices, each with panels of its own: matrices, bytes of x from a token to the next and from a matrix to the next, the same of out.
"""

from __future__ import annotations

from typing import Any

import numba

from probe.engine.native.arithmetic import exponential, larger, minus, mul, over, plus, splat, zero
from probe.engine.native.lanes import BYTES, jit, thread_count, thread_number
from probe.engine.native.memory import get_bf16, get_f32, load_f32, load_row, put_bf16, store_f32, store_row
from probe.engine.native.pool import COLUMNS, PANELS, ROWS
from probe.engine.native.tile import tile


@jit
def _put(n: Any, panel: Any, sums: Any, row: Any) -> None:
    """One token's sums of a panel, to its row of out; columns beyond the last are left out."""
    first, columns = panel * COLUMNS, n[5]
    if n[6] != 0 and first + COLUMNS <= columns:
        store_f32(sums, plus(load_f32(sums), load_row(n[6] + 2 * first)))
    to = row + 2 * first
    if first + COLUMNS <= columns:
        store_row(to, load_f32(sums))
        return
    for i in range(columns - first):
        value = get_f32(sums + 4 * i)
        put_bf16(to + 2 * i, value if n[6] == 0 else value + get_bf16(n[6] + 2 * (first + i)))


@jit
def _ahead(tokens: Any, number: Any, a: Any, b: Any, c: Any, d: Any, of_panel: Any) -> Any:
    """The panel behind one of four, for each of the last four whole tiles another, but none for the first: it waits for its own."""
    left = tokens // ROWS - 1 - number
    if number == 0 or left < 0 or left > 3:
        return 0
    if left == 0:
        return d + of_panel
    if left == 1:
        return c + of_panel
    return (b if left == 2 else a) + of_panel


@jit
def _multiply(n: Any, number: Any, x: Any, row: Any, a: Any, b: Any, c: Any, d: Any, sums: Any) -> Any:
    """The sums of a tile's tokens, `row` bytes of x apart; how many these are."""
    tokens, pairs, first = n[3], n[4] // 4, ROWS * number
    rows = min(ROWS, tokens - first)
    ahead = _ahead(tokens, number, a, b, c, d, pairs * BYTES)
    tile(rows, x + first * row, row, a, b, c, d, pairs, sums, PANELS * BYTES, ahead)
    return rows


def product(n: Any) -> None:
    """out [tokens, matrices, columns]."""
    panels, tiles = -(-n[5] // COLUMNS), -(-n[3] // ROWS)
    sums, of_panel, quarter = n[7] + thread_number() * n[8], n[4] // 4 * BYTES, -(-panels // PANELS)
    items = n[9] * quarter * tiles
    for item in range(items * thread_number() // thread_count(), items * (thread_number() + 1) // thread_count()):
        matrix, a, number = item // tiles // quarter, item // tiles % quarter, item % tiles
        b, c, d = min(a + quarter, panels - 1), min(a + 2 * quarter, panels - 1), min(a + 3 * quarter, panels - 1)
        w, x = n[1] + matrix * panels * of_panel, n[0] + matrix * n[11]
        at = w + a * of_panel, w + b * of_panel, w + c * of_panel, w + d * of_panel
        rows = _multiply(n, number, x, n[10], at[0], at[1], at[2], at[3], sums)
        out = n[2] + matrix * n[13] + ROWS * number * n[12]
        for row in range(rows):
            for which in range(PANELS):
                if a + which * quarter < panels:
                    _put(n, a + which * quarter, sums + (row * PANELS + which) * BYTES, out + row * n[12])


@jit
def _put_gated(n: Any, panel: Any, half: Any, gate: Any, up: Any, token: Any) -> None:
    """silu of the gates' sums times the other ones', of the panel's columns in the first half."""
    first, second = load_f32(gate), load_f32(up)
    if n[6] != 0:
        first = plus(first, load_row(n[6] + 2 * COLUMNS * panel))
        second = plus(second, load_row(n[6] + 2 * COLUMNS * (panel + half)))
    least = larger(first, splat(numba.float32(-88)))
    gated = mul(over(first, plus(splat(numba.float32(1)), exponential(minus(zero(), least)))), second)
    store_row(n[2] + 2 * COLUMNS * (token * half + panel), gated)


def gated_product(n: Any) -> None:
    """out [tokens, columns / 2]: silu of the first half's columns times the second's. Both halves are whole panels."""
    tokens, size, w = n[3], n[4], n[1]
    half = n[5] // COLUMNS // 2
    sums, of_panel, quarter = n[7] + thread_number() * n[8], size // 4 * BYTES, -(-half // 2)
    tiles = -(-tokens // ROWS)
    items, other = quarter * tiles, w + half * of_panel
    for item in range(items * thread_number() // thread_count(), items * (thread_number() + 1) // thread_count()):
        a, first = item // tiles, ROWS * (item % tiles)
        b = min(a + quarter, half - 1)
        at = w + a * of_panel, w + b * of_panel, other + a * of_panel, other + b * of_panel
        rows = _multiply(n, item % tiles, n[0], size, at[0], at[1], at[2], at[3], sums)
        for row in range(rows):
            one = sums + row * PANELS * BYTES
            _put_gated(n, a, half, one, one + 2 * BYTES, first + row)
            if a + quarter < half:
                _put_gated(n, b, half, one + BYTES, one + 3 * BYTES, first + row)
