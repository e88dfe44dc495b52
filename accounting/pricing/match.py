"""Which seller and which group of the price book does each event belong to?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.pricing.book import PriceBook
from accounting.pricing.encode import Combinations, encode, encode_together
from accounting.pricing.layout import Flags

Codes32 = npt.NDArray[np.int32]
PlanRows = Callable[[slice, Codes32], Codes32]
"""Rows and a buffer -> first place in the book's plan of each event's group."""

_TABLE_LIMIT = 1 << 22


class Matcher:
    """One look-up of names for each distinct combination of provider, model, tier, batch, and of surface and region where they decide.

    A combination is a mixed-radix number of its codes. What it leads to stands in a table that is filled as combinations appear;
    where hostile input has so many distinct texts that the table would not fit, the distinct combinations of a block are sorted.
    """

    def __init__(
        self,
        book: PriceBook,
        provider: pa.Array,
        model: pa.Array,
        service_tier: pa.Array,
        batch: Flags | None,
        surface: pa.Array | None = None,
        region: pa.Array | None = None,
    ) -> None:
        self._book = book
        self._columns = encode_together({"provider": provider, "model": model, "service_tier": service_tier})
        places = [_deciding("surface", surface, book.surfaces), _deciding("region", region, book.regions)]
        self._columns += [place for place in places if place is not None]
        self._decides = [place is not None for place in places]
        self._batch = batch if batch is not None and batch.any() else None
        size = (1 if self._batch is None else 2) * math.prod(len(column.texts) for column in self._columns)
        self._table = np.full(size, -1, np.int32) if size <= _TABLE_LIMIT else None

    def sellers(self) -> pa.DictionaryArray:
        """The seller of each event as the price list names it, null for an unknown one."""
        providers = self._columns[0]
        sellers = [self._book.names.seller(texts[0]) for texts in providers.texts]
        distinct = sorted({seller for seller in sellers if seller is not None})
        place = np.array([-1 if seller is None else distinct.index(seller) for seller in sellers], np.int32)
        codes = place.take(providers.codes)
        indices = pa.array(codes, mask=codes < 0 if None in sellers else None)
        return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()), safe=False)

    def plan_rows(self, rows: slice, code: Codes32) -> Codes32:
        """First place in the book's plan of each event's group; `code` is a buffer, and what comes back may be it."""
        if self._table is None:
            wide = np.empty(code.size, np.int64)
            self._combine(rows, wide)
            distinct, inverse = np.unique(wide, return_inverse=True)
            return self._find(distinct).take(inverse)
        self._combine(rows, code)
        found = self._table.take(code, mode="clip")
        if np.minimum.reduce(found) < 0:
            new = np.unique(code[found < 0])
            self._table[new] = self._find(new)
            found = self._table.take(code, mode="clip")
        return found

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
        """Looks combinations up, taken apart again into their texts."""
        rest, batch = combinations, np.zeros_like(combinations)
        if self._batch is not None:
            rest, batch = np.divmod(rest, 2)
        parts: list[list[tuple[str | None, ...]]] = []
        for column in reversed(self._columns):
            rest, code = np.divmod(rest, len(column.texts))
            parts.append([column.texts[one] for one in code.tolist()])
        named = [sum(texts, ()) for texts in zip(*reversed(parts), strict=True)]
        groups = [self._group(texts, job) for texts, job in zip(named, batch.astype(np.bool_).tolist(), strict=True)]
        return np.fromiter(groups, np.int32, len(combinations)) * np.int32(self._book.bins)

    def _group(self, texts: tuple[str | None, ...], batch: bool) -> int:
        provider, model, service_tier, *places = texts
        rest = iter(places)
        surface, region = (next(rest) if decides else None for decides in self._decides)
        return self._book.group(provider, model, service_tier, batch, surface, region)


def _deciding(field: str, column: pa.Array | None, deciding: frozenset[str]) -> Combinations | None:
    """Codes of the texts that decide a price, all others being one; None where none does."""
    if column is None or not deciding:
        return None
    known = encode(field, column)
    texts = [text.lower() if text is not None and text.lower() in deciding else None for text in known.texts]
    distinct: list[str | None] = list(dict.fromkeys([None, *texts]))
    if len(distinct) == 1:
        return None
    place = np.array([distinct.index(text) for text in texts], np.int32)
    return Combinations(place.take(known.codes), [(text,) for text in distinct])
