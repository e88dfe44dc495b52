"""Which distinct texts does a column hold, and where?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from accounting.errors import InvalidInput
from accounting.pricing.compiled import worthwhile

_HEAD = 1 << 16


@dataclass(frozen=True)
class Codes:
    """A text column as codes.

    Attributes:
        codes: integers, one a row.
        texts: distinct text of each code; None for null.
    """

    codes: npt.NDArray[np.signedinteger]
    texts: list[str | None]


@dataclass(frozen=True)
class Combinations:
    """Text columns together as codes.

    Attributes:
        codes: int32, one a row.
        texts: distinct texts of each code, one a column; None for null.
    """

    codes: npt.NDArray[np.int32]
    texts: list[tuple[str | None, ...]]


def encode_together(columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> list[Combinations]:
    """Codes of provider, model and tier (field -> column): of all three together where one pass can do it, else of each."""
    whole = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns.values()]
    if worthwhile(len(whole[0])):
        from accounting.pricing.compiled.names import combinations  # noqa: PLC0415

        found = combinations(whole)
        if found is not None:
            return [Combinations(*found)]
    parts = [encode(field, column) for field, column in zip(columns, whole, strict=True)]
    return [Combinations(part.codes, [(text,) for text in part.texts]) for part in parts]


def encode(field: str, column: pa.Array | pa.ChunkedArray) -> Codes:
    """Codes of an Arrow text column, plain or dictionary-encoded."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        return _from_dictionary(column)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InvalidInput(field, column.type, "an Arrow string column is expected, plain or dictionary-encoded")
    if len(column) <= _HEAD:
        encoded = column.dictionary_encode(null_encoding="encode")
        return Codes(encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist())
    if worthwhile(len(column)):
        from accounting.pricing.compiled.text import text_codes  # noqa: PLC0415

        found = text_codes(column)
        if found is not None:
            return Codes(*found)
    return _by_lookup(column)


def _from_dictionary(column: pa.DictionaryArray) -> Codes:
    """Codes as they are; nulls, whose code could be anything, get a code of their own."""
    texts, indices = column.dictionary.to_pylist(), column.indices
    if not indices.null_count:
        return Codes(indices.to_numpy().astype(np.int32, copy=False), texts)
    values = pa.Array.from_buffers(indices.type, len(indices), [None, indices.buffers()[1]], offset=indices.offset)
    valid = np.frombuffer(indices.is_valid().cast(pa.uint8()).buffers()[1], np.bool_, len(indices))
    codes = np.where(valid, values.to_numpy(), len(texts)).astype(np.int32, copy=False)
    return Codes(codes, [*texts, None])


def _by_lookup(column: pa.Array) -> Codes:
    """Looking texts up among those of the first rows takes two thirds of the time that building a dictionary does."""
    known = column.slice(0, _HEAD).unique()
    codes = pc.index_in(column, value_set=known)
    if codes.null_count:
        known = pa.concat_arrays([known, column.filter(pc.is_null(codes)).unique()])
        codes = pc.index_in(column, value_set=known)
    return Codes(codes.to_numpy(zero_copy_only=False), known.to_pylist())
