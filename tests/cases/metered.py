"""How does a scenario's amount become an event that costs exactly that much?

A model with one price, a dollar a million tokens, turns every amount of up to six decimals into a count of tokens.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from accounting.money import parse_unit_price
from accounting.pricing.book import PriceBook
from accounting.pricing.tariff import Alias, Tariff
from tests.events import event

SELLER, MODEL = "acme", "meter"
TARIFF = Tariff(
    seller=SELLER, model=MODEL, prices={"uncached_input": parse_unit_price("1")}, source="case", source_version="1"
)


def metered_book(*models: str) -> PriceBook:
    """The model, and further ones, each at a dollar a million tokens of input and nothing else."""
    rows = [TARIFF, *(Tariff(seller=SELLER, model=name, prices=TARIFF.prices, source="case") for name in models)]
    return PriceBook(rows, [Alias(SELLER, row.model, row.model, "case") for row in rows])


def costing(cost_usd: str, event_id: str, at: str, **changes: Any) -> dict[str, Any]:
    """A native event that costs this much at metered_book's price."""
    tokens = Decimal(cost_usd) * 1_000_000
    assert tokens == int(tokens), cost_usd
    usage = {"input_tokens": int(tokens), "output_tokens": 0}
    return event(event_id, provider=SELLER, occurred_at=at, usage=usage, **{"model": MODEL, **changes})
