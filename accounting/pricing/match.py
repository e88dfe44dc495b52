"""Which seller and which group of the price book does each event belong to?"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product, repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.pricing.book import Places, PriceBook
from accounting.pricing.encode import Codes, encode, encode_together
from accounting.pricing.layout import Flags
from accounting.pricing.memory import taken_by

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
        self._batch = batch if batch is not None and batch.any() else None
        surfaces, regions = _deciding("surface", surface, book.surfaces), _deciding("region", region, book.regions)
        self._places = [place for place in (surfaces, regions) if place is not None]
        in_surfaces, in_regions = (place.texts if place is not None else [None] for place in (surfaces, regions))
        self._pairs: Places = tuple(product(in_surfaces, in_regions))
        names = (1 if self._batch is None else 2) * math.prod(len(column.texts) for column in self._columns)
        size = names * len(self._pairs)
        self._table = np.full(size, -1, np.int32) if size <= _TABLE_LIMIT else None

    def sellers(self) -> pa.DictionaryArray:
        """The seller of each event as the price list names it, null for an unknown one."""
        providers = self._columns[0]
        names = [texts[0] for texts in providers.texts]
        sellers = {name: self._book.names.seller(name) for name in set(names)}
        distinct = sorted({seller for seller in sellers.values() if seller is not None})
        place_of = {seller: place for place, seller in enumerate(distinct)}
        place = np.array([place_of.get(sellers[name] or "", -1) for name in names], np.int16)
        codes = taken_by(providers.codes, place)
        indices = pa.array(codes, mask=codes < 0 if None in sellers.values() else None)
        return pa.DictionaryArray.from_arrays(indices, pa.array(distinct, pa.string()), safe=False)

    def plan_rows(self, rows: slice, code: Codes32) -> Codes32:
        """First place in the book's plan of each event's group; `code` is a buffer, and what comes back may be it."""
        if self._table is None:
            wide = np.empty(code.size, np.int64)
            self._combine(rows, wide)
            distinct, inverse = np.unique(wide, return_inverse=True)
            names, places = np.divmod(distinct, len(self._pairs))
            known, which = np.unique(names, return_inverse=True)
            return self._find(known)[which, places].take(inverse)
        self._combine(rows, code)
        found = self._table.take(code, mode="clip")
        if np.minimum.reduce(found) < 0:
            new = np.unique(code[found < 0] // len(self._pairs))
            self._table.reshape(-1, len(self._pairs))[new] = self._find(new)
            found = self._table.take(code, mode="clip")
        return found

    def _combine(self, rows: slice, code: npt.NDArray[np.signedinteger]) -> None:
        first, *others = self._columns
        code[:] = first.codes[rows]
        for column in others:
            _join(code, len(column.texts), column.codes[rows])
        if self._batch is not None:
            _join(code, 2, self._batch[rows])
        for place in self._places:
            _join(code, len(place.texts), place.codes[rows])

    def _find(self, combinations: npt.NDArray[np.signedinteger]) -> Codes32:
        """Looks names up, taken apart again into their texts: a line for each, with a plan row for every place."""
        rest, batch = combinations, np.zeros_like(combinations)
        if self._batch is not None:
            rest, batch = np.divmod(rest, 2)
        parts: list[list[tuple[str | None, ...]]] = []
        for column in reversed(self._columns):
            rest, code = np.divmod(rest, len(column.texts))
            parts.append([column.texts[one] for one in code.tolist()])
        providers, models, service_tiers = zip(
            *(sum(texts, ()) for texts in zip(*reversed(parts), strict=True)), strict=True
        )
        jobs = batch.astype(np.bool_).tolist()
        groups = map(self._book.groups, providers, models, service_tiers, jobs, repeat(self._pairs))
        return np.concatenate(list(groups)).reshape(-1, len(self._pairs)) * np.int32(self._book.bins)


def _join(code: npt.NDArray[np.signedinteger], count: int, further: npt.NDArray[np.generic]) -> None:
    np.multiply(code, count, out=code)
    np.add(code, further, out=code)


def _deciding(field: str, column: pa.Array | None, deciding: frozenset[str]) -> Codes | None:
    """Codes of the texts that decide a price, all others being one; None where none does."""
    if column is None or not deciding:
        return None
    known = encode(field, column)
    texts = [text.lower() if text is not None and text.lower() in deciding else None for text in known.texts]
    distinct: list[str | None] = list(dict.fromkeys([None, *texts]))
    if len(distinct) == 1:
        return None
    place = np.array([distinct.index(text) for text in texts], np.int16)
    return Codes(taken_by(known.codes, place), distinct)
