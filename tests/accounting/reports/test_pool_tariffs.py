"""Which tariffs could serve a pool's requests, and what would they ask?"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest

from accounting.errors import InvalidInput
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports.pool_tariffs import FRESH, offers, quotes
from accounting.selfhosted.workload import Workload


def test_every_seller_of_the_pools_model_is_compared() -> None:
    """Pools name models as their weights are named, organisation first; a seller of the same name is one of several."""
    tariffs, aliases, *_ = load_list_tariffs()
    book, at = PriceBook(tariffs, aliases), datetime(2026, 10, 1, tzinfo=UTC)
    found = {offer.name for offer in offers(book, "openai/gpt-oss-120b", (), at)}
    assert {"openai/gpt-oss-120b", "azure/gpt-oss-120b", "fireworks/gpt-oss-120b"} <= found
    assert [offer.name for offer in offers(book, "nothing", ["openai/gpt-5.6-terra"], at)] == ["openai/gpt-5.6-terra"]
    [unknown] = offers(book, "nothing", ["openai/no-such"], at)
    one = Workload(*(np.array([1]) for _ in range(3)))
    assert quotes(book, [unknown], one, "USD", at).why == {"openai/no-such": "unknown_model"}
    for wrong in ("gpt-5.6-terra", "nobody/x", "openai/"):
        with pytest.raises(InvalidInput, match=f"filter='model:{wrong}'"):
            offers(book, "nothing", [wrong], at)


def test_a_seller_without_a_price_for_cached_tokens_bills_them_as_fresh() -> None:
    """1,000 new and 500 found tokens at 2 a million, 100 out at 8: 0.003 + 0.0008; in euros it can't be compared."""
    row = Tariff(seller="plain", model="m", prices={"uncached_input": 2 * 10**9, "output": 8 * 10**9})
    book, at = PriceBook([row], [Alias("plain", "m", "m", "its own name")]), datetime(2026, 10, 1, tzinfo=UTC)
    work = Workload(*(np.array([count]) for count in (1_000, 500, 100)))
    found = offers(book, "m", (), at)
    told = quotes(book, found, work, "USD", at)
    assert told.cost == {"plain/m": Fraction(38, 10_000)}
    assert told.why == {"plain/m": FRESH}
    other = quotes(book, found, work, "EUR", at)
    assert (other.cost, other.why) == ({"plain/m": None}, {"plain/m": "priced in USD"})
