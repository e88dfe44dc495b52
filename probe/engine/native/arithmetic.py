"""What do kernels compute with vectors? Each function stands for a few instructions (emit.py)."""

from __future__ import annotations

import struct
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from probe.engine.native.emit import (
    F16X,
    F32,
    I16,
    I16X,
    I32,
    WIDTH,
    added_products,
    every_word,
    fma,
    high_halves,
    low_halves,
    splatted,
    to_bf16,
)
from probe.engine.native.lanes import intrinsic, lanes, pairs


@intrinsic
def zero(_context: Any) -> Any:
    return lanes(), lambda _c, _b, _s, _v: ir.Constant(F16X, None)


@intrinsic
def zero_pairs(_context: Any) -> Any:
    return pairs(), lambda _c, _b, _s, _v: ir.Constant(I16X, None)


def _zipped(builder: Any, values: Any, first: int) -> Any:
    x, y = (builder.bitcast(value, ir.VectorType(I16, WIDTH)) for value in values)
    picked = [at for i in range(first, first + 16) for at in (i, WIDTH + i)]
    mixed = builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, WIDTH), picked))
    return builder.bitcast(mixed, I16X)


@intrinsic
def zipped_low(_context: Any, x: Any, y: Any) -> Any:
    """x[0], y[0], x[1], y[1] ... of the first sixteen of each."""
    return pairs(pairs, pairs), lambda _c, builder, _s, values: _zipped(builder, values, 0)


@intrinsic
def zipped_high(_context: Any, x: Any, y: Any) -> Any:
    """The same of the last sixteen."""
    return pairs(pairs, pairs), lambda _c, builder, _s, values: _zipped(builder, values, 16)


@intrinsic
def dot(_context: Any, acc: Any, x: Any, y: Any) -> Any:
    return lanes(lanes, pairs, pairs), lambda _c, builder, _s, values: added_products(builder, *values)


@intrinsic
def evens(_context: Any, x: Any) -> Any:
    return lanes(pairs), lambda _c, builder, _s, values: low_halves(builder, values[0])


@intrinsic
def odds(_context: Any, x: Any) -> Any:
    return lanes(pairs), lambda _c, builder, _s, values: high_halves(builder, values[0])


@intrinsic
def joined(_context: Any, even: Any, odd: Any) -> Any:
    """Both rounded to bf16, to nearest, ties to even, and interleaved."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        low, high = (to_bf16(builder, value) for value in values)
        return builder.or_(builder.lshr(low, every_word(16)), builder.and_(high, every_word(0xFFFF0000)))

    return pairs(lanes, lanes), build


@intrinsic
def plus(_context: Any, x: Any, y: Any) -> Any:
    return lanes(lanes, lanes), lambda _c, builder, _s, values: builder.fadd(*values)


@intrinsic
def total(_context: Any, x: Any) -> Any:
    """The sum of sixteen, by halves: one order, whatever the processor."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        value, width = values[0], 16
        while width > 1:
            width //= 2
            low, high = (ir.Constant(ir.VectorType(I32, width), list(range(at, at + width))) for at in (0, width))
            value = builder.fadd(builder.shuffle_vector(value, value, low), builder.shuffle_vector(value, value, high))
        return builder.extract_element(value, ir.Constant(I32, 0))

    return types.float32(lanes), build


@intrinsic
def minus(_context: Any, x: Any, y: Any) -> Any:
    return lanes(lanes, lanes), lambda _c, builder, _s, values: builder.fsub(*values)


@intrinsic
def mul(_context: Any, x: Any, y: Any) -> Any:
    return lanes(lanes, lanes), lambda _c, builder, _s, values: builder.fmul(*values)


@intrinsic
def over(_context: Any, x: Any, y: Any) -> Any:
    return lanes(lanes, lanes), lambda _c, builder, _s, values: builder.fdiv(*values)


@intrinsic
def scaled(_context: Any, x: Any, factor: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        return builder.fmul(values[0], splatted(builder, values[1], F16X))

    return lanes(lanes, types.float32), build


@intrinsic
def as_f32(_context: Any, word: Any) -> Any:
    """The float32 whose bits an int32 has."""
    return types.float32(types.int32), lambda _c, builder, _s, values: builder.bitcast(values[0], F32)


@intrinsic
def splat(_context: Any, value: Any) -> Any:
    return lanes(types.float32), lambda _c, builder, _s, values: splatted(builder, values[0], F16X)


@intrinsic
def larger(_context: Any, x: Any, y: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return lanes(lanes, lanes), build


@intrinsic
def largest(_context: Any, x: Any) -> Any:
    """Of sixteen."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        kind = ir.FunctionType(F32, [F16X])
        return builder.call(
            cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fmax.v16f32"), values
        )

    return types.float32(lanes), build


@intrinsic
def exponential(_context: Any, x: Any) -> Any:
    """e^x of sixteen up to 88, to 2e-7 of it, and e^-87 for what is below -87: 2^n times the Taylor series of e^f, |f| <= ln 2 / 2."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        def every(number: float) -> Any:
            return ir.Constant(F16X, [number] * 16)

        low = every(-87.0)
        x = builder.select(builder.fcmp_ordered(">", values[0], low), values[0], low)
        n = builder.fptosi(fma(builder, x, every(_LOG2_E), every(127.5)), I16X)
        whole = builder.sitofp(builder.sub(n, every_word(127)), F16X)
        f = fma(builder, whole, every(-_LN_2[1]), fma(builder, whole, every(-_LN_2[0]), x))
        p = every(_rounded(1 / 5040))
        for factor in (720, 120, 24, 6, 2, 1, 1):
            p = fma(builder, p, f, every(_rounded(1 / factor)))
        return builder.fmul(p, builder.bitcast(builder.shl(n, every_word(23)), F16X))

    return lanes(lanes), build


def _rounded(number: float) -> float:
    """To float32, which is all that a constant of that type may hold."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


_LOG2_E = _rounded(1.4426950408889634)
# ln 2 in two parts, the first with few bits, so that its products with whole numbers are exact.
_LN_2 = 0.693145751953125, _rounded(1.428606765330187e-06)
