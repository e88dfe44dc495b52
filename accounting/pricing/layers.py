"""What does each event cost by list price and by contract? Two books, one answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Ints
from accounting.pricing.match import Codes32
from accounting.pricing.memory import copied, empty
from accounting.pricing.planned import rate_planned
from accounting.pricing.rate import Rated, RateInput, matcher_of, rate, rated_of


def rate_layers(list_book: PriceBook, contract_book: PriceBook | None, inp: RateInput) -> Rated:
    """Cost of n events: everything from the contracted book, and beside it list cost and list row from the list's book.

    `contract_book` holds the list and what the tenant agreed (contracted.py); None: list prices are what is paid. `list_known` is
    False where the list has no price, or one in another currency than the contract's; `list_cost` is then 0 and means nothing.
    Events that no row of the tenant prices are rated once, where both books hold the same list.
    """
    if contract_book is None or contract_book is list_book:
        return rate(list_book, inp)
    if contract_book.list_fingerprint != list_book.list_fingerprint:
        contracted, listed = rate(contract_book, inp), rate(list_book, inp)
        return _beside(contracted, listed, np.arange(len(inp.occurred_at)), list_book, contract_book)
    plan = empty(len(inp.occurred_at), np.int32)
    matcher = matcher_of(contract_book, inp)

    def remembered(rows: slice, code: Codes32) -> Codes32:
        plan[rows] = found = matcher.plan_rows(rows, code)
        return found

    answer = rate_planned(contract_book, remembered, inp.occurred_at, inp.quantities, inp.cache_read_known)
    contracted = rated_of(contract_book, answer, matcher.sellers())
    (places,) = contract_book.is_own.take(contracted.sku_index, mode="wrap").nonzero()
    if not places.size:
        return contracted
    groups = contract_book.groups_in(list_book).take(plan[places] // contract_book.bins) * np.int32(list_book.bins)
    listed = _rated_at(list_book, inp, places, groups)
    return _beside(contracted, listed, places, list_book, contract_book)


def _rated_at(book: PriceBook, inp: RateInput, places: Ints, plan: npt.NDArray[np.int32]) -> Rated:
    """Some of the events, whose place in the book's plan is known."""
    known = None if inp.cache_read_known is None else inp.cache_read_known[places]
    quantities = {name: _take(column, places) for name, column in inp.quantities.items()}
    answer = rate_planned(book, lambda rows, _: plan[rows], _take(inp.occurred_at, places), quantities, known)
    return rated_of(book, answer, pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([], pa.string())))


def _take(column: Ints, places: Ints) -> Ints:
    return column.take(places, out=empty(places.size, np.int64), mode="clip")


def _beside(contracted: Rated, listed: Rated, places: Ints, list_book: PriceBook, book: PriceBook) -> Rated:
    cost, sku, known = copied(contracted.list_cost), copied(contracted.list_sku_price_id), contracted.list_known
    both = listed.list_known
    if {*list_book.currencies, *book.currencies} != {*book.currencies[:1]}:
        theirs = listed.currency.cast(pa.string()).to_numpy(zero_copy_only=False)
        ours = contracted.currency.cast(pa.string()).to_numpy(zero_copy_only=False)[places]
        both = both & (theirs == ours)
    known[places] = both
    cost[places] = listed.list_cost * both
    sku[places] = listed.list_sku_price_id * both
    return replace(contracted, list_cost=cost, list_sku_price_id=sku, list_known=known)


def taken(inp: RateInput, places: Ints) -> RateInput:
    """The events at some places."""
    take = pa.array(places)

    def texts(column: pa.Array | None) -> pa.Array | None:
        return None if column is None else column.take(take)

    return RateInput(
        provider=texts(inp.provider),
        model=texts(inp.model),
        service_tier=texts(inp.service_tier),
        batch=None if inp.batch is None else inp.batch[places],
        occurred_at=inp.occurred_at[places],
        quantities={name: column[places] for name, column in inp.quantities.items()},
        cache_read_known=None if inp.cache_read_known is None else inp.cache_read_known[places],
        surface=texts(inp.surface),
        region=texts(inp.region),
    )
