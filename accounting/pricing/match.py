"""Which group of the price book does each event belong to?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from accounting.pricing.book import PriceBook
from accounting.pricing.encode import encode
from accounting.pricing.layout import Flags, Ints

_TABLE_LIMIT = 1 << 22


class Matcher:
    """Groups of events, one look-up of names for each distinct combination of provider, model, tier and batch.

    A combination is a mixed-radix number of its codes. Its group stands in a table that is filled as combinations appear; where
    hostile input has so many distinct texts that the table would not fit, the distinct combinations of a chunk are sorted instead.
    """

    def __init__(
        self, book: PriceBook, provider: pa.Array, model: pa.Array, service_tier: pa.Array, batch: Flags | None
    ) -> None:
        self._book = book
        self._providers = encode("provider", provider)
        self._models = encode("model", model)
        self._tiers = encode("service_tier", service_tier)
        self._batch = batch
        size = len(self._providers.texts) * len(self._models.texts) * len(self._tiers.texts) * 2
        self._table: Ints | None = np.full(size, -1, np.int64) if size <= _TABLE_LIMIT else None

    def groups(self, rows: slice, out: Ints) -> Ints:
        """Groups of some rows, written to `out`."""
        combination = out
        np.multiply(self._providers.codes[rows], len(self._models.texts), out=combination, dtype=np.int64)
        np.add(combination, self._models.codes[rows], out=combination)
        np.multiply(combination, 2 * len(self._tiers.texts), out=combination)
        np.add(combination, self._tiers.codes[rows], out=combination)
        np.add(combination, self._tiers.codes[rows], out=combination)
        if self._batch is not None:
            np.add(combination, self._batch[rows], out=combination)
        if self._table is None:
            distinct, inverse = np.unique(combination, return_inverse=True)
            out[:] = np.array([self._find(one) for one in distinct.tolist()], np.int64)[inverse]
            return out
        found = self._table.take(combination)
        if found.min(initial=0) < 0:
            for one in np.unique(combination[found < 0]).tolist():
                self._table[one] = self._find(one)
            found = self._table.take(combination)
        out[:] = found
        return out

    def _find(self, combination: int) -> int:
        rest, batch = divmod(combination, 2)
        rest, tier = divmod(rest, len(self._tiers.texts))
        provider, model = divmod(rest, len(self._models.texts))
        return self._book.group(
            self._providers.texts[provider], self._models.texts[model], self._tiers.texts[tier], bool(batch)
        )
