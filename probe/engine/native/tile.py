"""What is multiplied at once, as fast as the processor can? Up to six rows by four panels, with all sums in registers.

A panel is sixteen columns of a matrix [in, 16] in bf16, as [in / 2, 16] words of two: a register holds sixteen columns of a pair of
rows, and a pair of x goes to all of them. Each sum adds pairs in their order, so a row's sums are the same whichever rows come with it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from probe.engine.native.emit import F16X, I16X, I32, I64, added_products, splatted
from probe.engine.native.lanes import BYTES, intrinsic, jit
from probe.engine.native.pool import PANELS, ROWS

SUMS = ROWS * PANELS * BYTES
"""Bytes of a tile's sums: [row, panel, 16] in float32."""


def _tile(rows: int, fetches: bool = False) -> Any:
    @intrinsic
    def multiplied(
        _context: Any, x: Any, row: Any, a: Any, b: Any, c: Any, d: Any, pairs: Any, out: Any, out_row: Any, ahead: Any
    ) -> Any:
        def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
            x, row, *panels, pairs, out, out_row, ahead = values
            sums = [[cgutils.alloca_once(builder, F16X) for _ in range(PANELS)] for _ in range(rows)]
            for one in sums:
                for place in one:
                    builder.store(ir.Constant(F16X, None), place)
            xs = [x]
            for _ in range(rows - 1):
                xs.append(builder.add(xs[-1], row))
            with cgutils.for_range(builder, pairs) as loop:
                word, register = (builder.mul(loop.index, ir.Constant(I64, size)) for size in (4, BYTES))
                if fetches:
                    _fetch(builder, builder.add(ahead, register))
                weights = [_read(builder, builder.add(panel, register), I16X) for panel in panels]
                for one, start in zip(sums, xs, strict=True):
                    pair = splatted(builder, _read(builder, builder.add(start, word), I32), I16X)
                    for place, weight in zip(one, weights, strict=True):
                        builder.store(added_products(builder, builder.load(place), pair, weight), place)
            for one in sums:
                for number, place in enumerate(one):
                    address = builder.inttoptr(builder.add(out, ir.Constant(I64, BYTES * number)), F16X.as_pointer())
                    builder.store(builder.load(place), address).align = 4
                out = builder.add(out, out_row)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 10), build

    return multiplied


def _fetch(builder: Any, address: Any) -> None:
    """To the second cache; nothing where the address is nobody's."""
    pointer = builder.inttoptr(address, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, I32, I32, I32])
    instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(instruction, [pointer, *(ir.Constant(I32, number) for number in (0, 2, 1))])


def _read(builder: Any, address: Any, kind: Any) -> Any:
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()))
    loaded.align = 2
    return loaded


_one, _two, _three, _four, _five, _six = (_tile(rows) for rows in range(1, ROWS + 1))
_six_and_fetch = _tile(ROWS, fetches=True)


@jit
def tile(
    rows: Any, x: Any, row: Any, a: Any, b: Any, c: Any, d: Any, pairs: Any, out: Any, out_row: Any, ahead: Any
) -> None:
    """Sums [rows, PANELS, 16] in float32 to `out`, `out_row` bytes a row: one to ROWS rows of x, `row` bytes apart, by four panels.

    ahead: a panel that ROWS rows bring to the second cache meanwhile, 0: none.
    """
    if rows == 6 and ahead != 0:
        _six_and_fetch(x, row, a, b, c, d, pairs, out, out_row, ahead)
    elif rows == 6:
        _six(x, row, a, b, c, d, pairs, out, out_row, ahead)
    elif rows == 5:
        _five(x, row, a, b, c, d, pairs, out, out_row, ahead)
    elif rows == 4:
        _four(x, row, a, b, c, d, pairs, out, out_row, ahead)
    elif rows == 3:
        _three(x, row, a, b, c, d, pairs, out, out_row, ahead)
    elif rows == 2:
        _two(x, row, a, b, c, d, pairs, out, out_row, ahead)
    else:
        _one(x, row, a, b, c, d, pairs, out, out_row, ahead)
