"""Which combinations of provider, model and tier does a long batch hold, and where? The kernel's tables, and when it can't be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.pricing.compiled.names_kernel import ENTRY, FIRST_ROW, HASH, LONG, encode_names
from accounting.pricing.compiled.tables import read_only
from accounting.pricing.compiled.text import shift_of, slots_for
from accounting.pricing.memory import empty

Array = npt.NDArray[Any]
Combination = tuple[str | None, ...]

_ENTRIES = 1 << 12
_MOST_ENTRIES = 1 << 16
_PATIENCE = 4
"""Looks at wrong entries allowed for each row: texts made to collide must not make the time quadratic."""


def combinations(columns: Sequence[pa.Array]) -> tuple[npt.NDArray[np.int32], list[Combination]] | None:
    """Codes by first appearance, and the three texts of each.

    Args:
        columns: provider, model and tier; plain Arrow text of one length.

    None where the columns must be looked up one by one: another type than `string`, nulls but among the tiers, a provider or tier
    of more than 16 bytes, texts that collide too often, or more combinations than the table may hold.
    """
    provider, model, tier = columns
    if any(not pa.types.is_string(column.type) for column in columns) or provider.null_count or model.null_count:
        return None
    count = len(provider)
    validity = tier.buffers()[0] if tier.null_count else None
    valid = np.empty(0, np.uint8) if validity is None else np.frombuffer(validity, np.uint8)
    texts = (*_text(provider), *_text(model), *_text(tier), read_only(valid), tier.offset)
    codes, entries = empty(count, np.int32), np.empty(_ENTRIES * ENTRY, np.uint64)
    row, known, patience = 0, 0, _PATIENCE * count
    slots = slots_for(entries, known, ENTRY, HASH)
    while True:
        row, known, patience = encode_names(*texts, row, slots, shift_of(slots), entries, known, patience, codes)
        if row == count:
            first = pa.array(entries[FIRST_ROW : known * ENTRY : ENTRY])
            found = [column.take(first).to_pylist() for column in columns]
            return codes, list(zip(*found, strict=True))
        if patience < 0 or entries.size == _MOST_ENTRIES * ENTRY:
            return None
        entries = np.concatenate([entries, np.empty_like(entries)])
        slots = slots_for(entries, known, ENTRY, HASH)


def _text(column: pa.Array) -> tuple[Array, Array, Array]:
    """Bytes, a copy of the last `LONG` of them with as many zeros behind (zeros before, where there are fewer), and offsets."""
    _, offsets, data = column.buffers()
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    end = np.zeros(2 * LONG, np.uint8)
    last = bytes_[-LONG:]
    end[LONG - last.size : LONG] = last
    return (
        read_only(bytes_),
        read_only(end),
        read_only(np.frombuffer(offsets, np.int32)[column.offset :][: len(column) + 1]),
    )
