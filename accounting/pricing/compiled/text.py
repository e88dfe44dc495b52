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
    codes, entries = np.empty(count, np.int32), np.empty(_ENTRIES * ENTRY, np.uint64)
    row, known, patience = 0, 0, _PATIENCE * count
    slots = _slots(entries, known)
    while True:
        row, known, patience = kernel(
            data, offsets, valid, column.offset, row, slots, _shift(slots), entries, known, patience, codes
        )
        if row == count:
            return codes, column.take(pa.array(entries[FIRST_ROW : known * ENTRY : ENTRY])).to_pylist()
        if patience < 0:
            return None
        entries = np.concatenate([entries, np.empty_like(entries)])
        slots = _slots(entries, known)


def _read_only(buffer: pa.Buffer, kind: np.dtype[Any]) -> Array:
    return np.frombuffer(buffer, kind, buffer.size // kind.itemsize)


def _shift(slots: Array) -> int:
    """How many of a hash's 32 bits are not needed to tell the slots apart."""
    return 33 - slots.size.bit_length()


def _slots(entries: Array, known: int) -> npt.NDArray[np.int32]:
    """A table of at least four slots for each entry, in which each of the first `known` stands at or after its hash's slot."""
    slots = np.full(4 * entries.size // ENTRY, -1, np.int32)
    codes = np.arange(known, dtype=np.int32)
    wanted = entries[HASH : known * ENTRY : ENTRY].astype(np.int64) >> _shift(slots)
    while codes.size:
        free = slots[wanted] < 0
        slots[wanted[free]] = codes[free]  # Of several that want one slot, the last stays.
        placed = slots[wanted] == codes
        codes, wanted = codes[~placed], (wanted[~placed] + 1) & (slots.size - 1)
    return slots
