"""Which vectors do the kernels compute with? Sixteen float32 in a register, thirty-two bf16 in another; memory is an address.

LLVM's own vectors: a processor without AVX512-bf16 gets the same sums from more instructions.
"""

from __future__ import annotations

import struct
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

from probe.engine.native.pool import library

I16, I32, I64, F32 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
F16X = ir.VectorType(F32, 16)
I16X = ir.VectorType(I32, 16)
WIDTH = 32
"""bf16 in a register."""
BYTES = 64

OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "nogil": True}


class _Bfloat(ir.types.Type):  # type: ignore[misc]
    """LLVM's bfloat, which llvmlite does not name."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bfloat)

    def __hash__(self) -> int:
        return hash("bfloat")


class Lanes(types.Type):  # type: ignore[misc]
    """Sixteen float32."""


class Pairs(types.Type):  # type: ignore[misc]
    """Thirty-two bf16, held as sixteen words of two."""


lanes, pairs = Lanes("Lanes"), Pairs("Pairs")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, F16X)


@register_model(Pairs)
class _PairsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, I16X)


def jit(function: Any) -> Any:
    """A part of a kernel."""
    return numba.njit(**OPTIONS)(function)


def intrinsic(function: Any) -> Any:
    """What stands for LLVM's own instructions."""
    return numba_intrinsic(function)


def compiled(kernel: Any) -> int:
    """The address of a kernel as a C function of one pointer to int64. The object is kept for the life of the process."""
    made = numba.cfunc(types.void(types.CPointer(types.int64)), **OPTIONS)(kernel)
    _KEPT.append(made)
    return int(made.address)


_KEPT: list[Any] = []


def _add_thread_functions() -> None:
    threads = library()
    assert threads is not None
    import ctypes  # noqa: PLC0415 (an address is all that is wanted of it)

    for name in ("omp_get_thread_num", "omp_get_num_threads"):
        llvm.add_symbol(name, ctypes.cast(getattr(threads, name), ctypes.c_void_p).value)


_add_thread_functions()
thread_number = types.ExternalFunction("omp_get_thread_num", types.int32())
thread_count = types.ExternalFunction("omp_get_num_threads", types.int32())
_HAS_DOT = bool(llvm.get_host_cpu_features().get("avx512bf16"))


def splatted(builder: Any, value: Any, kind: Any) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(one, one, ir.Constant(I16X, [0] * 16))


def every_word(number: int) -> Any:
    return ir.Constant(I16X, [number] * 16)


def _low(builder: Any, words: Any) -> Any:
    """Elements 0, 2, 4 ... as float32."""
    return builder.bitcast(builder.shl(words, every_word(16)), F16X)


def _high(builder: Any, words: Any) -> Any:
    return builder.bitcast(builder.and_(words, every_word(0xFFFF0000)), F16X)


def _fma(builder: Any, x: Any, y: Any, acc: Any) -> Any:
    kind = ir.FunctionType(F16X, [F16X, F16X, F16X])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32"), [x, y, acc])


@intrinsic
def zero(_context: Any) -> Any:
    return lanes(), lambda _c, _b, _s, _v: ir.Constant(F16X, None)


@intrinsic
def dot(_context: Any, acc: Any, x: Any, y: Any) -> Any:
    """acc[i] + x[2i] y[2i] + x[2i + 1] y[2i + 1]."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        acc, x, y = values
        if not _HAS_DOT:
            low = _fma(builder, _low(builder, x), _low(builder, y), acc)
            return _fma(builder, _high(builder, x), _high(builder, y), low)
        wide = ir.VectorType(_Bfloat(), WIDTH)
        kind = ir.FunctionType(F16X, [F16X, wide, wide])
        instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512bf16.dpbf16ps.512")
        return builder.call(instruction, [acc, builder.bitcast(x, wide), builder.bitcast(y, wide)])

    return lanes(lanes, pairs, pairs), build


@intrinsic
def evens(_context: Any, x: Any) -> Any:
    return lanes(pairs), lambda _c, builder, _s, values: _low(builder, values[0])


@intrinsic
def odds(_context: Any, x: Any) -> Any:
    return lanes(pairs), lambda _c, builder, _s, values: _high(builder, values[0])


@intrinsic
def times(_context: Any, acc: Any, x: Any, factor: Any) -> Any:
    """acc + x factor, by one number."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        return _fma(builder, values[1], splatted(builder, values[2], F16X), values[0])

    return lanes(lanes, lanes, types.float32), build


@intrinsic
def joined(_context: Any, even: Any, odd: Any) -> Any:
    """Both rounded to bf16, to nearest, ties to even, and interleaved."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        def rounded(value: Any) -> Any:
            word = builder.bitcast(value, I16X)
            last = builder.and_(builder.lshr(word, every_word(16)), every_word(1))
            return builder.add(builder.add(word, every_word(0x7FFF)), last)

        low = builder.lshr(rounded(values[0]), every_word(16))
        return builder.or_(low, builder.and_(rounded(values[1]), every_word(0xFFFF0000)))

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
        n = builder.fptosi(_fma(builder, x, every(_LOG2_E), every(127.5)), I16X)
        whole = builder.sitofp(builder.sub(n, every_word(127)), F16X)
        f = _fma(builder, whole, every(-_LN_2[1]), _fma(builder, whole, every(-_LN_2[0]), x))
        p = every(_rounded(1 / 5040))
        for factor in (720, 120, 24, 6, 2, 1, 1):
            p = _fma(builder, p, f, every(_rounded(1 / factor)))
        return builder.fmul(p, builder.bitcast(builder.shl(n, every_word(23)), F16X))

    return lanes(lanes), build


def _rounded(number: float) -> float:
    """To float32, which is all that a constant of that type may hold."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


_LOG2_E = _rounded(1.4426950408889634)
# ln 2 in two parts, the first with few bits, so that its products with whole numbers are exact.
_LN_2 = 0.693145751953125, _rounded(1.428606765330187e-06)
