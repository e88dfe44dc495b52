"""Which combination of provider, model and tier does each row of three text columns hold? One pass, one look-up a row.

Three look-ups cost more than one over all bytes. A text of at most 16 bytes is two words, from its start and from its end - 8; one
of at most 32 is four; of a longer model's name what lies between is compared further on as well. A text shorter than 8 bytes is one
masked word twice; null has the length 255. The lengths and words of all three together are the combination, so that equal entries
are equal texts; the hash only says where to look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from accounting.pricing.compiled.jit import column, compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

ENTRY = 16
"""Words of an entry: provider 2, tier 2, model 4, then these."""
LENGTHS, MODEL_AT, FIRST_ROW, HASH = 8, 9, 10, 11
SHORT = 16
"""Most bytes of a provider and of a tier."""


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


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _ends(data: Array, size: Any, low: Any, within: Any) -> tuple[Any, Any]:
    """First and last word of a text; none reads beyond the end of all bytes."""
    one, eight = np.uint64(1), np.uint64(8)
    keep = ~np.uint64(0) if within >= eight else (one << (within << np.uint64(3))) - one
    if low + eight <= size:
        last = within - eight if within > eight else np.uint64(0)
        return _word(data, low) & keep, _word(data, low + last) & keep
    back = low + eight - size
    only = (_word(data, size - eight) >> (back << np.uint64(3))) & keep if back < eight else np.uint64(0)
    return only, only


def _kernel(  # noqa: PLR0912, PLR0915 - a call for each row would cost more than what it does
    provider: Array,
    provider_offsets: Array,
    model: Array,
    model_offsets: Array,
    tier: Array,
    tier_offsets: Array,
    tier_valid: Array,
    tier_valid_from: int,
    start: int,
    slots: Array,
    spare_bits: int,
    entries: Array,
    count: int,
    patience: int,
    codes: Array,
) -> tuple[int, int, int]:
    one, eight = np.uint64(1), np.uint64(8)
    mask, capacity = np.uint64(slots.size - 1), np.uint64(entries.size // ENTRY)
    known, shift = np.uint64(count), np.uint64(spare_bits)
    provider_size, model_size, tier_size = np.uint64(provider.size), np.uint64(model.size), np.uint64(tier.size)
    has_nulls = tier_valid.size > 0
    for at in range(start, codes.size):
        row = np.uint64(at)
        low = np.uint64(provider_offsets[row])
        provider_length = np.uint64(provider_offsets[row + one]) - low
        provider0, provider1 = _ends(provider, provider_size, low, provider_length)
        low = np.uint64(tier_offsets[row])
        within = np.uint64(tier_offsets[row + one]) - low
        tier_length = within
        if has_nulls:
            bit = np.uint64(tier_valid_from) + row
            present = np.uint64(tier_valid[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7))) & one
            within = within * present
            tier_length = within | ((present - one) & np.uint64(255))
        tier0, tier1 = _ends(tier, tier_size, low, within)
        if provider_length > np.uint64(SHORT) or within > np.uint64(SHORT):
            return at, int(known), -1  # To be looked up column by column.
        low = np.uint64(model_offsets[row])
        length = np.uint64(model_offsets[row + one]) - low
        model0, model3 = _ends(model, model_size, low, length)
        model1 = model2 = np.uint64(0)
        if length > np.uint64(16):
            model1 = _word(model, low + eight)
            model2 = _word(model, low + min(np.uint64(16), length - eight))
        lengths = length << np.uint64(16) | provider_length << np.uint64(8) | tier_length
        mixed = (
            (model0 + lengths) * np.uint64(0x9E3779B97F4A7C15)
            + model1 * np.uint64(0xC2B2AE3D27D4EB4F)
            + model2 * np.uint64(0x165667B19E3779F9)
            + model3 * np.uint64(0x85EBCA77C2B2AE63)
            + (provider0 + (provider1 << one)) * np.uint64(0xD6E8FEB86659FD93)
            + (tier0 + (tier1 << one)) * np.uint64(0xFF51AFD7ED558CCD)
        )
        is_long = length > np.uint64(32)
        if is_long:
            for place in range(24, length - eight, 8):
                mixed = (mixed ^ (mixed >> np.uint64(29)) ^ _word(model, low + np.uint64(place))) * np.uint64(
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
                entry = known * np.uint64(ENTRY)
                for place, value in enumerate(
                    (provider0, provider1, tier0, tier1, model0, model1, model2, model3, lengths, low, row, mixed)
                ):
                    entries[entry + np.uint64(place)] = value
                codes[row] = known
                known += one
                break
            entry = np.uint64(code) * np.uint64(ENTRY)
            differs = (
                (provider0 ^ entries[entry])
                | (provider1 ^ entries[entry + np.uint64(1)])
                | (tier0 ^ entries[entry + np.uint64(2)])
                | (tier1 ^ entries[entry + np.uint64(3)])
                | (model0 ^ entries[entry + np.uint64(4)])
                | (model1 ^ entries[entry + np.uint64(5)])
                | (model2 ^ entries[entry + np.uint64(6)])
                | (model3 ^ entries[entry + np.uint64(7)])
                | (lengths ^ entries[entry + np.uint64(8)])
            )
            if is_long and differs == 0:
                first = entries[entry + np.uint64(9)]
                for place in range(24, length - eight, 8):
                    differs |= _word(model, low + np.uint64(place)) ^ _word(model, first + np.uint64(place))
            if differs == 0:
                codes[row] = code
                break
            patience -= 1
            if patience < 0:
                return at, int(known), patience
            slot = (slot + one) & mask
    return codes.size, int(known), patience


_bytes, _offsets, _whole = column(types.uint8), column(types.int32), types.int64
_table, _codes = types.Array(types.uint64, 1, "C"), types.Array(types.int32, 1, "C")
encode_names = compiled(
    *(_bytes, _offsets) * 3, _bytes, _whole, _whole, _codes, _whole, _table, _whole, _whole, _codes
)(_kernel)
