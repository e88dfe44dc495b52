"""Which group of the price book does each event belong to?"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.pricing.book import PriceBook
from accounting.pricing.encode import encode
from accounting.pricing.layout import Flags

Codes32 = npt.NDArray[np.int32]

_TABLE_LIMIT = 1 << 22


class Matcher:
    """Groups of events, one look-up of names for each distinct combination of provider, model, tier and batch.

    A combination is a mixed-radix number of its codes. Its group stands in a table that is filled as combinations appear; where
    hostile input has so many distinct texts that the table would not fit, the distinct combinations of a block are sorted instead.
    """

    def __init__(
        self, book: PriceBook, provider: pa.Array, model: pa.Array, service_tier: pa.Array, batch: Flags | None
    ) -> None:
        self._book = book
        self._columns = (encode("provider", provider), encode("model", model), encode("service_tier", service_tier))
        self._batch = batch if batch is not None and batch.any() else None
        size = (1 if self._batch is None else 2) * math.prod(len(column.texts) for column in self._columns)
        self._table = np.full(size, -1, np.int32) if size <= _TABLE_LIMIT else None

    def groups(self, rows: slice, code: Codes32, out: Codes32) -> Codes32:
        """Groups of some rows, written to `out`; `code` is a buffer."""
        if self._table is None:
            wide = np.empty(out.size, np.int64)
            self._combine(rows, wide)
            distinct, inverse = np.unique(wide, return_inverse=True)
            return self._find(distinct).take(inverse, out=out)
        self._combine(rows, code)
        self._table.take(code, out=out, mode="clip")
        if np.minimum.reduce(out) < 0:
            new = np.unique(code[out < 0])
            self._table[new] = self._find(new)
            self._table.take(code, out=out, mode="clip")
        return out

    def _combine(self, rows: slice, code: npt.NDArray[np.signedinteger]) -> None:
        first, *others = self._columns
        code[:] = first.codes[rows]
        for column in others:
            np.multiply(code, len(column.texts), out=code)
            np.add(code, column.codes[rows], out=code)
        if self._batch is not None:
            np.multiply(code, 2, out=code)
            np.add(code, self._batch[rows], out=code)

    def _find(self, combinations: npt.NDArray[np.signedinteger]) -> Codes32:
        """One look-up for each combination, taken apart again into its texts."""
        rest, batch = (
            np.divmod(combinations, 2) if self._batch is not None else (combinations, np.zeros_like(combinations))
        )
        texts: list[list[str | None]] = []
        for column in reversed(self._columns):
            rest, code = np.divmod(rest, len(column.texts))
            texts.append([column.texts[one] for one in code.tolist()])
        service_tiers, models, providers = texts
        found = map(self._book.group, providers, models, service_tiers, batch.astype(np.bool_).tolist())
        return np.fromiter(found, np.int32, len(combinations))
