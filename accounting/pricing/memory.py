"""Where does memory for long columns come from? From Arrow's pool, which hands out again what the batch before has given back.

The system gives fresh pages, zeroed one by one; for a batch's answers that takes as long as reading two texts of each event.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Kind = TypeVar("Kind", bound=np.generic)

_BLOCK = 1 << 14


def empty(size: int, kind: type[Kind]) -> npt.NDArray[Kind]:
    """A writable array of `size` elements, with any content; its memory goes back when the array and its views are gone."""
    made: npt.NDArray[Any] = np.frombuffer(pa.allocate_buffer(size * np.dtype(kind).itemsize), kind)
    return made


def taken_by(codes: npt.NDArray[np.signedinteger], table: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """The table's element for each of its codes, block by block, as numpy widens all codes that it is given before it looks one up."""
    made = empty(codes.size, table.dtype.type)
    for start in range(0, codes.size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        table.take(codes[rows], out=made[rows], mode="clip")
    return made


def copied(column: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """A copy of a column."""
    made = empty(column.size, column.dtype.type)
    made[:] = column
    return made
