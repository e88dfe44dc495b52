"""Which code does each text have? One pass over the bytes of an Arrow column.

A text of at most 32 bytes is read as four words without a branch: from bytes 0, 8, 16 and its end - 8, none beyond the end. A text
shorter than 8 bytes is one masked word four times; null has the length 2^64 - 1. Length and words together are the text, so that
equal entries are equal texts; what is longer is compared further on as well. The hash only says where to look.

Numbers are unsigned throughout: an index that can't be negative costs no test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from accounting.pricing.compiled.jit import column, compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

ENTRY = 8
"""An entry has four words, then these; one cache line in all."""
LENGTH, FIRST_BYTE, FIRST_ROW, HASH = 4, 5, 6, 7


@intrinsic  # type: ignore[untyped-decorator]
def _word(_context: Any, data: Any, at: Any) -> Any:
    """The eight bytes of a byte array from a place on, which need not be a multiple of eight."""

    def load(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        place = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [values[1]])
        word = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(data, at), load


def _kernel(  # noqa: PLR0912, PLR0915
    data: Array,
    offsets: Array,
    valid: Array,
    valid_from: int,
    start: int,
    slots: Array,
    spare_bits: int,
    entries: Array,
    count: int,
    patience: int,
    codes: Array,
) -> tuple[int, int, int]:
    one, eight = np.uint64(1), np.uint64(8)
    mask, size, capacity = np.uint64(slots.size - 1), np.uint64(data.size), np.uint64(entries.size // 8)
    all_bits, known = ~np.uint64(0), np.uint64(count)
    shift = np.uint64(spare_bits)
    has_nulls = valid.size > 0
    for at in range(start, codes.size):
        row = np.uint64(at)
        low = np.uint64(offsets[row])
        length = np.uint64(offsets[row + one]) - low
        within = length
        if has_nulls:
            bit = np.uint64(valid_from) + row
            present = np.uint64(valid[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7))) & one
            within = length * present
            length = within | (present - one)
        last = within - eight if within > eight else np.uint64(0)
        keep = all_bits if within >= eight else (one << (within << np.uint64(3))) - one
        if low + eight <= size:
            word0, word3 = _word(data, low) & keep, _word(data, low + last) & keep
            word1 = _word(data, low + min(eight, last)) & keep
            word2 = _word(data, low + min(np.uint64(16), last)) & keep
        else:  # So near the end of all bytes that a whole word only fits if it starts before the text.
            back = low + eight - size
            word0 = (_word(data, size - eight) >> (back << np.uint64(3))) & keep if back < eight else np.uint64(0)
            word1 = word2 = word3 = word0
        mixed = (
            (word0 + length) * np.uint64(0x9E3779B97F4A7C15)
            + word1 * np.uint64(0xC2B2AE3D27D4EB4F)
            + word2 * np.uint64(0x165667B19E3779F9)
            + word3 * np.uint64(0x85EBCA77C2B2AE63)
        )
        is_long = within > np.uint64(32)
        if is_long:
            for place in range(24, within - eight, 8):
                mixed = (mixed ^ (mixed >> np.uint64(29)) ^ _word(data, low + np.uint64(place))) * np.uint64(
                    0xBF58476D1CE4E5B9
                )
        mixed >>= np.uint64(32)  # Only the upper bits of products depend on all bits of the factors.
        slot = mixed >> shift
        while True:
            code = np.int64(slots[slot])
            if code < 0:
                if known == capacity:
                    return at, int(known), patience
                slots[slot] = known
                entry = known * eight
                for place, value in enumerate((word0, word1, word2, word3, length, low, row, mixed)):
                    entries[entry + np.uint64(place)] = value
                codes[row] = known
                known += one
                break
            entry = np.uint64(code) * eight
            differs = (
                (word0 ^ entries[entry])
                | (word1 ^ entries[entry + np.uint64(1)])
                | (word2 ^ entries[entry + np.uint64(2)])
                | (word3 ^ entries[entry + np.uint64(3)])
                | (length ^ entries[entry + np.uint64(4)])
            )
            if is_long and differs == 0:
                first = entries[entry + np.uint64(5)]
                for place in range(24, within - eight, 8):
                    differs |= _word(data, low + np.uint64(place)) ^ _word(data, first + np.uint64(place))
            if differs == 0:
                codes[row] = code
                break
            patience -= 1
            if patience < 0:
                return at, int(known), patience
            slot = (slot + one) & mask
    return codes.size, int(known), patience


def _arguments(offset: object) -> tuple[object, ...]:
    whole, table, codes = types.int64, types.Array(types.uint64, 1, "C"), types.Array(types.int32, 1, "C")
    return (
        column(types.uint8),
        column(offset),
        column(types.uint8),
        whole,
        whole,
        codes,
        whole,
        table,
        whole,
        whole,
        codes,
    )


encode_string = compiled(*_arguments(types.int32))(_kernel)
encode_large_string = compiled(*_arguments(types.int64))(_kernel)
