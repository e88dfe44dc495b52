"""How do kernels read and write memory, which is an address to them? Vectors of lanes.py, and single numbers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from probe.engine.native.emit import F16X, F32, I16, I16_ROW, I16X, I32, I64, every_word, narrowed, splatted
from probe.engine.native.lanes import intrinsic, lanes, pairs


def _reader(kind: Any, given: Any, align: int) -> Any:
    """What is at an address."""

    @intrinsic
    def read(_context: Any, address: Any) -> Any:
        def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
            loaded = builder.load(builder.inttoptr(values[0], kind.as_pointer()))
            loaded.align = align
            return loaded

        return given(types.int64), build

    return read


def _writer(kind: Any, given: Any, align: int) -> Any:
    """Writes to an address."""

    @intrinsic
    def write(_context: Any, address: Any, value: Any) -> Any:
        def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
            builder.store(values[1], builder.inttoptr(values[0], kind.as_pointer())).align = align
            return context.get_dummy_value()

        return types.void(types.int64, given), build

    return write


load, store = _reader(I16X, pairs, 2), _writer(I16X, pairs, 2)
load_f32, store_f32 = _reader(F16X, lanes, 4), _writer(F16X, lanes, 4)
get_f32, put_f32 = _reader(F32, types.float32, 4), _writer(F32, types.float32, 4)
get_i64, put_i64 = _reader(I64, types.int64, 8), _writer(I64, types.int64, 8)


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
def next_of(_context: Any, address: Any) -> Any:
    """The int64 at an address, which is one more afterwards, for whichever thread asks."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        counter = builder.inttoptr(values[0], I64.as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(I64, 1), "monotonic")

    return types.int64(types.int64), build


@intrinsic
def pair_of(_context: Any, address: Any) -> Any:
    """The same two bf16 everywhere."""

    def build(_c: Any, builder: Any, _s: Any, values: Any) -> Any:
        word = builder.load(builder.inttoptr(values[0], I32.as_pointer()))
        word.align = 2
        return splatted(builder, word, I16X)

    return pairs(types.int64), build


def _exchanged(half: int) -> tuple[Any, Any]:
    """Words that two vectors keep when squares of `half` words change places across the diagonal (Eklundh, 1972)."""
    kept = [i if i & half == 0 else 16 + i - half for i in range(16)]
    moved = [i + half if i & half == 0 else 16 + i for i in range(16)]
    return ir.Constant(I16X, kept), ir.Constant(I16X, moved)


@intrinsic
def put_sixteen_totals(
    _context: Any,
    a0: Any,
    a1: Any,
    a2: Any,
    a3: Any,
    b0: Any,
    b1: Any,
    b2: Any,
    b3: Any,
    c0: Any,
    c1: Any,
    c2: Any,
    c3: Any,
    d0: Any,
    d1: Any,
    d2: Any,
    d3: Any,
    address: Any,
    row: Any,
) -> Any:
    """The sums of sixteen, four in a row, `row` bytes from one to the next; each in the order of `total`."""

    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        *vectors, address, row = values
        for half in (8, 4, 2, 1):
            kept, moved = _exchanged(half)
            both = zip(vectors[:half], vectors[half:], strict=True)
            vectors = [
                builder.fadd(builder.shuffle_vector(x, y, kept), builder.shuffle_vector(x, y, moved)) for x, y in both
            ]
        four = ir.VectorType(F32, 4)
        for number in range(4):
            picked = ir.Constant(ir.VectorType(I32, 4), [4 * number + i for i in range(4)])
            part = builder.shuffle_vector(vectors[0], vectors[0], picked)
            builder.store(part, builder.inttoptr(address, four.as_pointer())).align = 4
            address = builder.add(address, row)
        return context.get_dummy_value()

    return types.void(*[lanes] * 16, types.int64, types.int64), build


@intrinsic
def turn(_context: Any, places: Any, base: Any, out: Any) -> Any:
    """Sixteen words of each of sixteen rows, at `base` and what stands in `places`: a row of their first words, one of the second..."""

    def build(context: Any, builder: Any, _s: Any, values: Any) -> Any:
        places, base, out = values
        rows = []
        for i in range(16):
            place = builder.load(builder.inttoptr(builder.add(places, ir.Constant(I64, 8 * i)), I64.as_pointer()))
            row = builder.load(builder.inttoptr(builder.add(base, place), I16X.as_pointer()))
            row.align = 2
            rows.append(row)
        for half in (8, 4, 2, 1):
            kept, moved = _exchanged(half)
            for i in range(16):
                if i & half == 0:
                    pair = rows[i], rows[i + half]
                    rows[i], rows[i + half] = builder.shuffle_vector(*pair, kept), builder.shuffle_vector(*pair, moved)
        for i, row in enumerate(rows):
            address = builder.add(out, ir.Constant(I64, 64 * i))
            builder.store(row, builder.inttoptr(address, I16X.as_pointer())).align = 2
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build
