"""Which combination of provider, model and tier does each row of three text columns hold? One pass, one look-up a row.

Three look-ups cost more than one over all bytes. A text is one vector, without a branch on its length: 16 bytes of a provider or a
tier, the first 64 of a model's name, zero beyond the text's end; what is longer is compared further on as well. Null has the length
255. Vectors and lengths together are the combination, so that equal entries are equal texts; the hash only says where to look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from accounting.pricing.compiled.jit import column, compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

ENTRY = 16
"""Words of an entry, two cache lines: model 8, provider 2, tier 2, then these."""
LENGTHS, MODEL_AT, FIRST_ROW, HASH = 12, 13, 14, 15
SHORT = 16
"""Most bytes of a provider and of a tier."""
LONG = 64
"""Most bytes of a model's name in its vector."""

_ROWS = 64
_TEXTS = np.uint64(0b11111)
"""Of the upper eight words of an entry those that are the combination: provider, tier, lengths."""

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_FACTORS = (
    0x9E3779B97F4A7C15,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
    0xBF58476D1CE4E5B9,
    0x94D049BB133111EB,
    0xC4CEB9FE1A85EC53,
    0x9FB21C651E98DF25,
    0xA0761D6478BD642F,
    0xE7037ED1A0B428DB,
)


class _Vector(types.Type):  # type: ignore[misc]
    """Bytes in one register."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(f"Vector({size})")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(_BYTE, kind.size))


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, size: int) -> Any:
    """Where a vector of bytes lies in an array, from an element on."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), ir.VectorType(_BYTE, size).as_pointer())


def _loader(size: int) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def load(_context: Any, data: Any, at: Any, within: Any) -> Any:
        """`size` bytes from a place on, of which the first `within` count and the others are zero."""

        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            vector = builder.load(_place(context, builder, signature.args[0], values[0], values[1], size))
            vector.align = 1
            lane = ir.Constant(ir.VectorType(_BYTE, size), list(range(size)))
            one = builder.insert_element(
                ir.Constant(lane.type, ir.Undefined), builder.trunc(values[2], _BYTE), ir.Constant(ir.IntType(32), 0)
            )
            every = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), size), [0] * size))
            return builder.select(builder.icmp_unsigned("<", lane, every), vector, ir.Constant(lane.type, [0] * size))

        return _Vector(size)(data, at, within), build

    return load


_short, _long = _loader(SHORT), _loader(LONG)


@intrinsic  # type: ignore[untyped-decorator]
def _mixed(_context: Any, first: Any, second: Any, third: Any) -> Any:
    """Sum of the words of three vectors, each times its own odd factor."""

    def build(_: Any, builder: Any, signature: Any, values: Any) -> Any:
        sums, used = [], 0
        for kind, value in zip(signature.args, values, strict=True):
            words = kind.size // 8
            wide = ir.VectorType(_WORD, words)
            factors = ir.Constant(wide, list(_FACTORS[used : used + words]))
            total, used = builder.mul(builder.bitcast(value, wide), factors), used + words
            while words > 2:
                words //= 2
                low, high = (
                    ir.Constant(ir.VectorType(ir.IntType(32), words), list(range(at, at + words))) for at in (0, words)
                )
                total = builder.add(
                    builder.shuffle_vector(total, total, low), builder.shuffle_vector(total, total, high)
                )
            sums.append(total)
        total = builder.add(builder.add(sums[0], sums[1]), sums[2])
        return builder.add(*(builder.extract_element(total, ir.Constant(ir.IntType(32), at)) for at in (0, 1)))

    return types.uint64(first, second, third), build


@intrinsic  # type: ignore[untyped-decorator]
def _unlike(_context: Any, words: Any, at: Any, others: Any, other_at: Any) -> Any:
    """Which of the eight words from a place on are not those of another array from another place on, as bits."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        wide, loaded = ir.VectorType(_WORD, 8), []
        for array in (0, 2):
            place = _place(context, builder, signature.args[array], values[array], values[array + 1], 64)
            loaded.append(builder.load(builder.bitcast(place, wide.as_pointer())))
            loaded[-1].align = 8
        return builder.zext(builder.bitcast(builder.icmp_unsigned("!=", *loaded), _BYTE), _WORD)

    return types.uint64(words, at, others, other_at), build


@intrinsic  # type: ignore[untyped-decorator]
def _keep(_context: Any, vector: Any, words: Any, at: Any) -> Any:
    """Writes a vector to an array of words from a place on."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        size = signature.args[0].size
        written = builder.store(values[0], _place(context, builder, signature.args[1], values[1], values[2], size))
        written.align = 8
        return context.get_dummy_value()

    return types.void(vector, words, at), build


@intrinsic  # type: ignore[untyped-decorator]
def _word(_context: Any, data: Any, at: Any) -> Any:
    """The eight bytes of a byte array from a place on, which need not be a multiple of eight."""

    def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        place = builder.gep(builder.bitcast(array.data, _BYTE.as_pointer()), [values[1]])
        word = builder.load(builder.bitcast(place, _WORD.as_pointer()))
        word.align = 1
        return word

    return types.uint64(data, at), build


def _kernel(  # noqa: PLR0912, PLR0915 - a call for each row would cost more than what it does
    provider: Array,
    provider_end: Array,
    provider_offsets: Array,
    model: Array,
    model_end: Array,
    model_offsets: Array,
    tier: Array,
    tier_end: Array,
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
    short, long = np.uint64(SHORT), np.uint64(LONG)
    mask, capacity = np.uint64(slots.size - 1), np.uint64(entries.size // ENTRY)
    known, shift = np.uint64(count), np.uint64(spare_bits)
    provider_size, model_size, tier_size = np.uint64(provider.size), np.uint64(model.size), np.uint64(tier.size)
    has_nulls = tier_valid.size > 0
    made = np.empty(_ROWS * ENTRY, np.uint64)
    for begin in range(start, codes.size, _ROWS):
        end = min(begin + _ROWS, codes.size)
        for at in range(begin, end):
            row = np.uint64(at)
            low = np.uint64(provider_offsets[row])
            provider_length = np.uint64(provider_offsets[row + one]) - low
            provider_text = (
                _short(provider, low, provider_length)
                if low + short <= provider_size
                else _short(provider_end, low + long - provider_size, provider_length)
            )
            low = np.uint64(tier_offsets[row])
            within = np.uint64(tier_offsets[row + one]) - low
            tier_length = within
            if has_nulls:
                bit = np.uint64(tier_valid_from) + row
                present = np.uint64(tier_valid[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7))) & one
                within = within * present
                tier_length = within | ((present - one) & np.uint64(255))
            tier_text = (
                _short(tier, low, within)
                if low + short <= tier_size
                else _short(tier_end, low + long - tier_size, within)
            )
            if provider_length > short or within > short:
                return at, int(known), -1  # To be looked up column by column.
            low = np.uint64(model_offsets[row])
            length = np.uint64(model_offsets[row + one]) - low
            model_text = (
                _long(model, low, min(length, long))
                if low + long <= model_size
                else _long(model_end, low + long - model_size, length)
            )
            lengths = length << np.uint64(16) | provider_length << np.uint64(8) | tier_length
            mixed = _mixed(model_text, provider_text, tier_text) + lengths * np.uint64(0x8EBC6AF09C88C6E3)
            if length > long:
                for place in range(LONG, length, 8):
                    word = _word(model, low + min(np.uint64(place), length - eight))
                    mixed = (mixed ^ (mixed >> np.uint64(29)) ^ word) * np.uint64(0xBF58476D1CE4E5B9)
            own = np.uint64((at - begin) * ENTRY)
            _keep(model_text, made, own)
            _keep(provider_text, made, own + eight)
            _keep(tier_text, made, own + np.uint64(10))
            made[own + np.uint64(LENGTHS)], made[own + np.uint64(MODEL_AT)] = lengths, low
            # Only the upper bits of products depend on all bits of the factors.
            made[own + np.uint64(FIRST_ROW)], made[own + np.uint64(HASH)] = row, mixed >> np.uint64(32)
        for at in range(begin, end):
            own = np.uint64((at - begin) * ENTRY)
            length, low = made[own + np.uint64(LENGTHS)] >> np.uint64(16), made[own + np.uint64(MODEL_AT)]
            slot = made[own + np.uint64(HASH)] >> shift
            while True:
                code = np.int64(slots[slot])
                if code < 0:
                    if known == capacity:
                        return at, int(known), patience
                    slots[slot] = known
                    for place in range(ENTRY):
                        entries[known * np.uint64(ENTRY) + np.uint64(place)] = made[own + np.uint64(place)]
                    codes[at] = known
                    known += one
                    break
                entry = np.uint64(code) * np.uint64(ENTRY)
                differs = (
                    _unlike(made, own, entries, entry) | _unlike(made, own + eight, entries, entry + eight) & _TEXTS
                )
                if length > long and differs == 0:
                    first = entries[entry + np.uint64(MODEL_AT)]
                    for place in range(LONG, length, 8):
                        further = min(np.uint64(place), length - eight)
                        differs |= _word(model, low + further) ^ _word(model, first + further)
                if differs == 0:
                    codes[at] = code
                    break
                patience -= 1
                if patience < 0:
                    return at, int(known), patience
                slot = (slot + one) & mask
    return codes.size, int(known), patience


_bytes, _offsets, _whole = column(types.uint8), column(types.int32), types.int64
_table, _codes = types.Array(types.uint64, 1, "C"), types.Array(types.int32, 1, "C")
encode_names = compiled(
    *(_bytes, _bytes, _offsets) * 3, _bytes, _whole, _whole, _codes, _whole, _table, _whole, _whole, _codes
)(_kernel)
