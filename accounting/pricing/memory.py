"""Where does memory for long columns come from? From Arrow's pool, which hands out again what the batch before has given back.

The system gives fresh pages, zeroed one by one; for a batch's answers that takes as long as reading two texts of each event.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Kind = TypeVar("Kind", bound=np.generic)


def empty(size: int, kind: type[Kind]) -> npt.NDArray[Kind]:
    """A writable array of `size` elements, with any content; its memory goes back when the array and its views are gone."""
    made: npt.NDArray[Any] = np.frombuffer(pa.allocate_buffer(size * np.dtype(kind).itemsize), kind)
    return made
