"""What does each event cost by list price? Whole columns in, whole columns out, in exact int64 arithmetic.

1. names become codes (encode.py), codes become groups of the book (match.py)
2. group and time give a base position, total input the thresholds reached (locate.py)
3. each usage column adds quantity times marginal price (costs.py)
4. what can't be priced gets a reason, cost 0 and no price row (refusals.py)

The work is done on blocks of rows whose buffers stay in a core's cache (block.py); on long batches by machine code, where the
extra `fast` is installed (compiled/), with the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.errors import InvalidInput
from accounting.money import exact_sum
from accounting.pricing.block import Answer
from accounting.pricing.book import PriceBook
from accounting.pricing.components import components
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.match import Matcher
from accounting.pricing.planned import rate_planned
from accounting.pricing.reasons import PRICED
from accounting.usage.classes import USAGE_COLUMNS

__all__ = ["RateInput", "Rated", "components", "exact_sum", "rate"]


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
        surface, region: Arrow text with nulls, as logged; None where no event says. They decide only where the book has prices
            for some surface or region of their own; the beginning of a model's name may state the region, and then it counts.
    """

    provider: pa.Array
    model: pa.Array
    service_tier: pa.Array
    batch: Flags | None
    occurred_at: Ints
    quantities: Mapping[str, Ints]
    cache_read_known: Flags | None = None
    surface: pa.Array | None = None
    region: pa.Array | None = None


@dataclass(frozen=True)
class Rated:
    """One line for each event.

    Attributes:
        sku_index: int32, place of the price row in `PriceBook.rows`, -1 where the event has no price.
        sku_price_id: int64, 0 where it has none.
        list_cost: int64, 10^-15 of the currency; 0 and no price where `list_known` is False.
        contracted_cost: int64, 0 where the event has no price (the reason says so; it is no price). `rate` gives the cost by its one
            book as both; `layers.rate_layers` tells them apart.
        list_sku_price_id: int64, price row of the list cost; 0 where there is none.
        list_known: bool, whether there is a list cost.
        reason: uint8, place in reasons.REASONS; 0 for a priced event.
        seller: Arrow dictionary of text, the price list's name; null for an unknown seller.
        currency: Arrow dictionary of text, null where the event has no price.
    """

    sku_index: npt.NDArray[np.int32]
    sku_price_id: Ints
    list_cost: Ints
    contracted_cost: Ints
    reason: npt.NDArray[np.uint8]
    list_sku_price_id: Ints
    list_known: Flags
    seller: pa.DictionaryArray
    currency: pa.DictionaryArray


def rate(book: PriceBook, inp: RateInput) -> Rated:
    """Cost of n events. Raises InvalidInput for columns of a wrong name, type or length; a bad value only marks its event."""
    matcher = matcher_of(book, inp)
    answer = rate_planned(book, matcher.plan_rows, inp.occurred_at, inp.quantities, inp.cache_read_known)
    return rated_of(book, answer, matcher.sellers())


def matcher_of(book: PriceBook, inp: RateInput) -> Matcher:
    """The look-up of the events' names in a book. Raises InvalidInput as `rate` does."""
    _check(inp)
    return Matcher(book, inp.provider, inp.model, inp.service_tier, inp.batch, inp.surface, inp.region)


def rated_of(book: PriceBook, answer: Answer, seller: pa.DictionaryArray) -> Rated:
    """An answer by one book as the lines of both layers."""
    return Rated(
        sku_index=answer.sku_index,
        sku_price_id=answer.sku_price_id,
        list_cost=answer.cost,
        contracted_cost=answer.cost,
        reason=answer.reason,
        list_sku_price_id=answer.sku_price_id,
        list_known=answer.reason == PRICED,
        seller=seller,
        currency=_currencies(answer.currency, book.currencies),
    )


def _check(inp: RateInput) -> None:
    count = len(inp.occurred_at)
    for name in ("provider", "model", "service_tier", "surface", "region"):
        column = getattr(inp, name)
        if column is not None and len(column) != count:
            raise InvalidInput(name, len(column), f"{count} rows are expected")
    for name, column in inp.quantities.items():
        if name not in USAGE_COLUMNS:
            raise InvalidInput("quantities", name, "no usage column")
        _check_array(name, column, np.int64, count)
    _check_array("occurred_at", inp.occurred_at, np.int64, count)
    for name, flags in (("batch", inp.batch), ("cache_read_known", inp.cache_read_known)):
        if flags is not None:
            _check_array(name, flags, np.bool_, count)


def _check_array(name: str, column: npt.NDArray[np.generic], kind: type[np.generic], count: int) -> None:
    if column.dtype != kind or column.shape != (count,):
        raise InvalidInput(name, f"{column.dtype} {column.shape}", f"{kind.__name__} of shape ({count},) is expected")


def _currencies(codes: npt.NDArray[np.int8], texts: tuple[str, ...]) -> pa.DictionaryArray:
    present = codes >= 0
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    indices = pa.Array.from_buffers(pa.int8(), len(codes), [valid, pa.py_buffer(codes)])
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()), safe=False)
