"""By which price books is a tenant's usage rated: the list alone, or the list with its contracted prices over it?"""

from __future__ import annotations

from accounting.pricing.book import PriceBook
from accounting.pricing.rate import Rated, RateInput, rate

Layers = tuple[PriceBook, PriceBook | None]
"""The list book, and the contracted book of a tenant that has a contract."""

Books = PriceBook | Layers


def layers(books: Books) -> Layers:
    """Both layers; a book alone is the list."""
    return (books, None) if isinstance(books, PriceBook) else books


def rate_books(books: Books, inp: RateInput) -> Rated:
    """List and contracted cost of n events."""
    listed, _ = layers(books)
    return rate(listed, inp)
