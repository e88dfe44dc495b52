"""How do kernels read and write memory, which is an address to them? Vectors of lanes.py, and single numbers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from probe.engine.native.emit import F16X, F32, I16, I16_ROW, I16X, I32, I64, every_word, narrowed, splatted
from probe.engine.native.lanes import intrinsic, lanes, pairs


@intrinsic
def load(_context: Any, address: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        loaded = builder.load(builder.inttoptr(values[0], I16X.as_pointer()))
        loaded.align = 2
        return loaded

    return pairs(types.int64), build


@intrinsic
def store(_context: Any, address: Any, vector: Any) -> Any:
    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        builder.store(values[1], builder.inttoptr(values[0], I16X.as_pointer())).align = 2
        return context.get_dummy_value()

    return types.void(types.int64, pairs), build


@intrinsic
def load_f32(_context: Any, address: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        loaded = builder.load(builder.inttoptr(values[0], F16X.as_pointer()))
        loaded.align = 4
        return loaded

    return lanes(types.int64), build


@intrinsic
def store_f32(_context: Any, address: Any, vector: Any) -> Any:
    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        builder.store(values[1], builder.inttoptr(values[0], F16X.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(types.int64, lanes), build


@intrinsic
def load_row(_context: Any, address: Any) -> Any:
    """Sixteen bf16 as float32."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        loaded = builder.load(builder.inttoptr(values[0], I16_ROW.as_pointer()))
        loaded.align = 2
        return builder.bitcast(builder.shl(builder.zext(loaded, I16X), every_word(16)), F16X)

    return lanes(types.int64), build


@intrinsic
def store_row(_context: Any, address: Any, vector: Any) -> Any:
    """Sixteen float32 as bf16, to nearest, ties to even."""

    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        place = builder.inttoptr(values[0], I16_ROW.as_pointer())
        builder.store(narrowed(builder, values[1]), place).align = 2
        return context.get_dummy_value()

    return types.void(types.int64, lanes), build


@intrinsic
def get_bf16(_context: Any, address: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        half = builder.load(builder.inttoptr(values[0], I16.as_pointer()))
        return builder.bitcast(builder.shl(builder.zext(half, I32), ir.Constant(I32, 16)), F32)

    return types.float32(types.int64), build


@intrinsic
def put_bf16(_context: Any, address: Any, value: Any) -> Any:
    """Rounded to nearest, ties to even."""

    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        word = builder.bitcast(values[1], I32)
        last = builder.and_(builder.lshr(word, ir.Constant(I32, 16)), ir.Constant(I32, 1))
        word = builder.add(builder.add(word, ir.Constant(I32, 0x7FFF)), last)
        half = builder.trunc(builder.lshr(word, ir.Constant(I32, 16)), I16)
        builder.store(half, builder.inttoptr(values[0], I16.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float32), build


@intrinsic
def get_f32(_context: Any, address: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        return builder.load(builder.inttoptr(values[0], F32.as_pointer()))

    return types.float32(types.int64), build


@intrinsic
def put_f32(_context: Any, address: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        builder.store(values[1], builder.inttoptr(values[0], F32.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float32), build


@intrinsic
def get_i32(_context: Any, address: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        loaded = builder.load(builder.inttoptr(values[0], I32.as_pointer()))
        loaded.align = 2
        return loaded

    return types.int32(types.int64), build


@intrinsic
def put_i32(_context: Any, address: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        builder.store(values[1], builder.inttoptr(values[0], I32.as_pointer())).align = 2
        return context.get_dummy_value()

    return types.void(types.int64, types.int32), build


@intrinsic
def get_i64(_context: Any, address: Any) -> Any:
    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        return builder.load(builder.inttoptr(values[0], I64.as_pointer()))

    return types.int64(types.int64), build


@intrinsic
def next_of(_context: Any, address: Any) -> Any:
    """The int64 at an address, which is one more afterwards, for whichever thread asks."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        counter = builder.inttoptr(values[0], I64.as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(I64, 1), "monotonic")

    return types.int64(types.int64), build


@intrinsic
def put_totals(_context: Any, a: Any, b: Any, c: Any, d: Any, factor: Any, address: Any, row: Any) -> Any:
    """The sums of four, times a factor, to an address and every `row` bytes behind it; together in half the shuffles of `total`."""

    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        def folded(x: Any, y: Any, low: list[int], high: list[int]) -> Any:
            halves = (builder.shuffle_vector(x, y, ir.Constant(I16X, picked)) for picked in (low, high))
            return builder.fadd(*halves)

        quarters = [[*range(at, at + 4), *range(at + 8, at + 12)] for at in (0, 4)]
        eight = [*range(8), *range(16, 24)], [*range(8, 16), *range(24, 32)]
        four = [[*part, *(16 + i for i in part)] for part in quarters]
        x = folded(folded(values[0], values[1], *eight), folded(values[2], values[3], *eight), *four)
        for swapped in (2, 1):
            other = builder.shuffle_vector(x, x, ir.Constant(I16X, [i ^ swapped for i in range(16)]))
            x = builder.fadd(x, other)
        x = builder.fmul(x, splatted(builder, values[4], F16X))
        address = values[5]
        for which in range(4):
            place = builder.inttoptr(address, F32.as_pointer())
            builder.store(builder.extract_element(x, ir.Constant(I32, 4 * which)), place)
            address = builder.add(address, values[6])
        return context.get_dummy_value()

    return types.void(lanes, lanes, lanes, lanes, types.float32, types.int64, types.int64), build
