"""What does each event cost by list price? Whole columns in, whole columns out, in exact int64 arithmetic.

1. names become codes (encode.py), codes become groups of the book (match.py)
2. group and time give the base position, total input the threshold reached (book.py, layout.py)
3. each usage column adds quantity times marginal price (inner.py)
4. what can't be priced gets a reason, cost 0 and no price row (reasons.py)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.errors import InvalidInput
from accounting.money import exact_sum
from accounting.pricing import inner, reasons
from accounting.pricing.book import PriceBook
from accounting.pricing.chunk import Chunk, Columns, Workspace
from accounting.pricing.components import components
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.match import Matcher
from accounting.usage.classes import USAGE_COLUMNS

__all__ = ["CHUNK", "RateInput", "Rated", "components", "exact_sum", "rate"]

CHUNK = 1 << 15
"""Rows worked on at a time: the buffers of one chunk stay in a core's cache."""


@dataclass(frozen=True)
class RateInput:
    """Events as columns of one length n.

    Attributes:
        provider: Arrow text, plain or dictionary-encoded, as logged.
        model: Arrow text; the response's model where there is one.
        service_tier: Arrow text with nulls, as served.
        batch: bool, or None where no event is a batch job.
        occurred_at: int64, microseconds since the epoch, UTC.
        quantities: usage column (accounting/usage/classes.py) -> int64 counts; an absent column is 0 throughout.
        cache_read_known: bool, False where the log does not say how much came from a cache; None where all are known.
    """

    provider: pa.Array
    model: pa.Array
    service_tier: pa.Array
    batch: Flags | None
    occurred_at: Ints
    quantities: Mapping[str, Ints]
    cache_read_known: Flags | None = None


@dataclass(frozen=True)
class Rated:
    """One line for each event.

    Attributes:
        sku_index: int32, place of the price row in `PriceBook.rows`, -1 where the event has no price.
        sku_price_id: int64, 0 where it has none.
        list_cost: int64, 10^-15 of the currency, 0 where it has none (the reason says so; it is no price).
        contracted_cost: the same array as `list_cost`: no contract prices are known yet.
        reason: uint8, place in reasons.REASONS; 0 for a priced event.
        seller: Arrow dictionary of text, the price list's name; null for an unknown seller.
        currency: Arrow dictionary of text, null where the event has no price.
    """

    sku_index: npt.NDArray[np.int32]
    sku_price_id: Ints
    list_cost: Ints
    contracted_cost: Ints
    reason: npt.NDArray[np.uint8]
    seller: pa.DictionaryArray
    currency: pa.DictionaryArray


def rate(book: PriceBook, inp: RateInput) -> Rated:
    """Cost of n events. Raises InvalidInput for columns of a wrong name, type or length; a bad value only marks its event."""
    columns = _checked(inp)
    matcher = Matcher(book, inp.provider, inp.model, inp.service_tier, inp.batch)
    count = len(inp.occurred_at)
    out = Columns(count)
    workspace = Workspace(min(CHUNK, count))
    for start in range(0, count, CHUNK):
        _rate_chunk(book, matcher, columns, slice(start, min(start + CHUNK, count)), workspace, out)
    return Rated(
        out.sku_index,
        out.sku_price_id,
        out.list_cost,
        out.list_cost,
        out.reason,
        _dictionary(out.seller, book.sellers),
        _dictionary(out.currency, book.currencies),
    )


def _rate_chunk(
    book: PriceBook, matcher: Matcher, inp: RateInput, rows: slice, workspace: Workspace, out: Columns
) -> None:
    chunk = Chunk(book, inp.quantities, rows, workspace, out)
    group = matcher.groups(rows, workspace.group[: chunk.size])
    np.take(book.seller_of_group, group, out=out.seller[rows], mode="clip")
    inner.find_positions(chunk, group, inp.occurred_at[rows])
    if inp.cache_read_known is not None:
        chunk.refuse(np.flatnonzero(~inp.cache_read_known[rows]), reasons.CACHE_READ_UNKNOWN)
    inner.refuse_impossible_counts(chunk)
    inner.reach_thresholds(chunk)
    inner.add_costs(chunk)
    inner.add_rare_prices(chunk)
    inner.refuse_inconsistent(chunk)
    inner.refuse_without_price(chunk)
    inner.refuse_above_limit(chunk)
    inner.finish(chunk, rows, out)


def _checked(inp: RateInput) -> RateInput:
    count = len(inp.occurred_at)
    for name, column in (("provider", inp.provider), ("model", inp.model), ("service_tier", inp.service_tier)):
        if len(column) != count:
            raise InvalidInput(name, len(column), f"{count} rows are expected")
    for name, column in inp.quantities.items():
        if name not in USAGE_COLUMNS:
            raise InvalidInput(name, "", "no usage column")
        _check_array(name, column, np.int64, count)
    _check_array("occurred_at", inp.occurred_at, np.int64, count)
    for name, flags in (("batch", inp.batch), ("cache_read_known", inp.cache_read_known)):
        if flags is not None:
            _check_array(name, flags, np.bool_, count)
    return inp


def _check_array(name: str, column: npt.NDArray[np.generic], kind: type[np.generic], count: int) -> None:
    if column.dtype != kind or column.shape != (count,):
        raise InvalidInput(name, f"{column.dtype} {column.shape}", f"{kind.__name__} of shape ({count},) is expected")


def _dictionary(codes: npt.NDArray[np.signedinteger], texts: tuple[str, ...]) -> pa.DictionaryArray:
    absent = codes < 0
    indices = pa.array(codes, mask=absent if absent.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))
