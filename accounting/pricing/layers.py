"""What does each event cost by list price and by contract? Two books, one answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from accounting.pricing.book import PriceBook
from accounting.pricing.layout import Flags, Ints
from accounting.pricing.rate import Rated, RateInput, rate


def rate_layers(list_book: PriceBook, contract_book: PriceBook | None, inp: RateInput) -> Rated:
    """Cost of n events: everything from the contracted book, and beside it list cost and list row from the list's book.

    `contract_book` holds the list and what the tenant agreed (contracted.py); None: list prices are what is paid. `list_known` is
    False where the list has no price, or one in another currency than the contract's; `list_cost` is then 0 and means nothing.
    Events that no row of the tenant prices are rated once, where both books hold the same list.
    """
    if contract_book is None or contract_book is list_book:
        return rate(list_book, inp)
    contracted = rate(contract_book, inp)
    same_list = contract_book.list_fingerprint == list_book.list_fingerprint
    some = _priced_by_contract(contract_book, contracted) if same_list else np.ones(contracted.sku_index.size, np.bool_)
    if not some.any():
        return contracted
    if some.mean() > 0.5:
        return _beside(contracted, rate(list_book, inp), np.arange(some.size), list_book, contract_book)
    (places,) = some.nonzero()
    return _beside(contracted, rate(list_book, taken(inp, places)), places, list_book, contract_book)


def _priced_by_contract(book: PriceBook, rated: Rated) -> Flags:
    own: Flags = np.array([*(row.tenant is not None for row in book.rows), False], np.bool_)
    return own[rated.sku_index]  # Without a price: -1, the last one.


def _beside(contracted: Rated, listed: Rated, places: Ints, list_book: PriceBook, book: PriceBook) -> Rated:
    cost, sku, known = contracted.list_cost.copy(), contracted.list_sku_price_id.copy(), contracted.list_known.copy()
    known[places] = listed.list_known
    if {*list_book.currencies, *book.currencies} != {*book.currencies[:1]}:
        theirs = listed.currency.cast(pa.string()).to_numpy(zero_copy_only=False)
        ours = contracted.currency.cast(pa.string()).to_numpy(zero_copy_only=False)[places]
        known[places] &= theirs == ours
    cost[places] = np.where(known[places], listed.list_cost, 0)
    sku[places] = np.where(known[places], listed.list_sku_price_id, 0)
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
