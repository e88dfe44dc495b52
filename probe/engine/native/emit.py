"""Which instructions of LLVM do the kernels' operations come down to? What a builder is told for vectors of sixteen."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils

I16, I32, I64, F32 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
F16X = ir.VectorType(F32, 16)
I16X = ir.VectorType(I32, 16)
I16_ROW = ir.VectorType(I16, 16)
WIDTH = 32
"""bf16 in a register."""


class _Bfloat(ir.types.Type):  # type: ignore[misc]
    """LLVM's bfloat, which llvmlite does not name."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bfloat)

    def __hash__(self) -> int:
        return hash("bfloat")


HAS_DOT = bool(llvm.get_host_cpu_features().get("avx512bf16"))


def splatted(builder: Any, value: Any, kind: Any) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(one, one, ir.Constant(I16X, [0] * 16))


def every_word(number: int) -> Any:
    return ir.Constant(I16X, [number] * 16)


def low_halves(builder: Any, words: Any) -> Any:
    """Elements 0, 2, 4 ... as float32."""
    return builder.bitcast(builder.shl(words, every_word(16)), F16X)


def high_halves(builder: Any, words: Any) -> Any:
    return builder.bitcast(builder.and_(words, every_word(0xFFFF0000)), F16X)


def to_bf16(builder: Any, value: Any) -> Any:
    """To nearest, ties to even, in the upper half of each word; the lower one is not cleared."""
    word = builder.bitcast(value, I16X)
    last = builder.and_(builder.lshr(word, every_word(16)), every_word(1))
    return builder.add(builder.add(word, every_word(0x7FFF)), last)


def narrowed(builder: Any, value: Any) -> Any:
    """Sixteen float32 as sixteen bf16, [16] of int16."""
    return builder.trunc(builder.lshr(to_bf16(builder, value), every_word(16)), I16_ROW)


def fma(builder: Any, x: Any, y: Any, acc: Any) -> Any:
    kind = ir.FunctionType(F16X, [F16X, F16X, F16X])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32"), [x, y, acc])


def added_products(builder: Any, acc: Any, x: Any, y: Any) -> Any:
    """acc[i] + x[2i] y[2i] + x[2i + 1] y[2i + 1]."""
    if not HAS_DOT:
        low = fma(builder, low_halves(builder, x), low_halves(builder, y), acc)
        return fma(builder, high_halves(builder, x), high_halves(builder, y), low)
    wide = ir.VectorType(_Bfloat(), WIDTH)
    kind = ir.FunctionType(F16X, [F16X, wide, wide])
    instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512bf16.dpbf16ps.512")
    return builder.call(instruction, [acc, builder.bitcast(x, wide), builder.bitcast(y, wide)])
