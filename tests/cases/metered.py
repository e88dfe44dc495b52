"""How does a scenario's amount become an event that costs exactly that much, and what is in the ledger then?

A model with one price, a dollar a million tokens, turns every amount of up to six decimals into a count of tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from accounting.money import format_plain, parse_unit_price
from accounting.pipeline import IngestResult, ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.engine import transaction
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

MakeTenant = Callable[..., TenantContext]

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


BOOK = metered_book()


def send(database: Database, owner: TenantContext, *events: dict[str, Any]) -> IngestResult:
    """Books native events in one transaction."""
    return ingest(database.app, owner, BOOK, body(events))


def ledger(database: Database, owner: TenantContext) -> Any:
    """Sums of all ledger lines: events, input, output, cost."""
    query = "SELECT sum(events) AS events, sum(uncached_input_tokens) AS input, sum(output_tokens) AS output, "
    query += "coalesce(sum(effective_cost), 0) AS cost FROM ledger WHERE tenant = :tenant"
    with transaction(database.app, owner.tenant) as connection:
        return connection.execute(text(query), {"tenant": owner.tenant}).one()


def usd(amount: Decimal) -> str:
    """An amount as the data set writes it."""
    return format_plain(Decimal(amount))
