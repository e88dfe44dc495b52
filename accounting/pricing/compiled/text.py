"""Which distinct texts does a long Arrow text column hold, and where? The kernel's tables, and what is done when they are full."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.pricing.compiled.text_kernel import (
    ENTRY,
    FIRST_ROW,
    HASH,
    encode_large_string,
    encode_string,
)
from accounting.pricing.memory import empty

Array = npt.NDArray[Any]

_ENTRIES = 1 << 11
_PATIENCE = 4
"""Looks at wrong entries allowed for each row: texts made to collide must not make the time quadratic."""


def text_codes(column: pa.Array) -> tuple[npt.NDArray[np.int32], list[str | None]] | None:
    """Codes by first appearance, and the text of each; None for null. None: the texts collide too often to be looked up so."""
    large = pa.types.is_large_string(column.type)
    count = len(column)
    validity, offset_bytes, text_bytes = column.buffers()
    offsets = _read_only(offset_bytes, np.dtype(np.int64 if large else np.int32))[column.offset :][: count + 1]
    valid = _read_only(validity, np.dtype(np.uint8)) if column.null_count else np.empty(0, np.uint8)
    data = _read_only(text_bytes, np.dtype(np.uint8)) if text_bytes is not None else np.empty(0, np.uint8)
    if data.size < 8:
        data = np.concatenate([data, np.zeros(8, np.uint8)])
    kernel = encode_large_string if large else encode_string
    codes, entries = empty(count, np.int32), np.empty(_ENTRIES * ENTRY, np.uint64)
    row, known, patience = 0, 0, _PATIENCE * count
    slots = slots_for(entries, known, ENTRY, HASH)
    while True:
        row, known, patience = kernel(
            data, offsets, valid, column.offset, row, slots, shift_of(slots), entries, known, patience, codes
        )
        if row == count:
            return codes, column.take(pa.array(entries[FIRST_ROW : known * ENTRY : ENTRY])).to_pylist()
        if patience < 0:
            return None
        entries = np.concatenate([entries, np.empty_like(entries)])
        slots = slots_for(entries, known, ENTRY, HASH)


def _read_only(buffer: pa.Buffer, kind: np.dtype[Any]) -> Array:
    return np.frombuffer(buffer, kind, buffer.size // kind.itemsize)


def shift_of(slots: Array) -> int:
    """How many of a hash's 32 bits are not needed to tell the slots apart."""
    return 33 - slots.size.bit_length()


def slots_for(entries: Array, known: int, entry: int, hash_at: int) -> npt.NDArray[np.int32]:
    """A table of at least four slots for each entry, in which each of the first `known` stands at or after its hash's slot.

    Args:
        entry: words of an entry, of which word `hash_at` is the hash.
    """
    slots = np.full(4 * entries.size // entry, -1, np.int32)
    codes = np.arange(known, dtype=np.int32)
    wanted = entries[hash_at : known * entry : entry].astype(np.int64) >> shift_of(slots)
    while codes.size:
        free = slots[wanted] < 0
        slots[wanted[free]] = codes[free]  # Of several that want one slot, the last stays.
        placed = slots[wanted] == codes
        codes, wanted = codes[~placed], (wanted[~placed] + 1) & (slots.size - 1)
    return slots
