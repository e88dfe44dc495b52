"""By which price books is a tenant's usage rated: the list alone, or the list with its contracted prices over it?"""

from __future__ import annotations

from accounting.pricing.book import PriceBook
from accounting.pricing.layers import rate_layers
from accounting.pricing.rate import Rated, RateInput

Books = PriceBook | tuple[PriceBook, PriceBook | None]
"""A book that is list and contract in one, or (list book, contracted book); the second is None where no contract changes the list."""


def rate_books(books: Books, inp: RateInput) -> Rated:
    """List and contracted cost of n events."""
    list_book, contract_book = (books, None) if isinstance(books, PriceBook) else books
    return rate_layers(list_book, contract_book, inp)
