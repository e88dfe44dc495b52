"""A reported cost that is booked beside a contract: what is its list cost, and does the check stay exact?

1,000 tokens in and 100 out: by the list 2 and 8 a million, 0.0028; by the contract 1 and 4, 0.0014; reported are 0.002 dollars.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from accounting.ledger.check import check, differences
from accounting.ledger.layers import Books
from accounting.ledger.read import charge_of
from accounting.ledger.reprice import reprice
from accounting.ledger.revise import void
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.engine import transaction
from accounting.storage.tariffs import write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage

JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
MILLION = 10**9
LISTED = Tariff("openai", "o3", {"uncached_input": 2 * MILLION, "output": 8 * MILLION}, source="test")
NAMES = [Alias("openai", "o3", "o3", "test")]


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    """A tenant that books what openai reports."""
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    return replace(context(database.app, name), reported_costs=frozenset({("openai", "")}))


def _books(database: Database, tenant: TenantContext, model: str, currency: str = "USD") -> Books:
    """The list, which prices o3 alone, and over it the tenant's own price of a model."""
    prices = {"uncached_input": 1 * MILLION, "output": 4 * MILLION}
    own = Tariff("openai", model, prices, tenant=tenant.tenant, currency=currency, source="contract")
    rows, names = contracted_rows([LISTED], NAMES, [], [own])
    with transaction(database.owner, tenant.tenant) as connection:
        write_tariffs(connection, [own], [])
    return stored_book(database, [LISTED], NAMES), PriceBook(rows, names)


def _costs(database: Database, tenant: TenantContext, event_id: str) -> tuple[object, ...]:
    charge = charge_of(database.app, tenant, event_id)
    return tuple(charge[name] for name in ("basis", "list_cost", "contracted_cost", "billed_cost"))


def _exact(database: Database, tenant: TenantContext) -> bool:
    return differences(check(database.app, tenant)) == []


def test_a_reported_cost_under_a_contract_without_a_list_price_has_no_list_cost(
    database: Database, tenant: TenantContext
) -> None:
    ingest(
        database.app,
        tenant,
        _books(database, tenant, "own-model"),
        body([event("r", model="own-model", reported_cost_usd="0.002")]),
    )
    assert _costs(database, tenant, "r") == ("reported", None, "0.002", "0.002")
    assert _exact(database, tenant)


def test_the_check_is_exact_with_and_without_list_prices_in_one_month(
    database: Database, tenant: TenantContext
) -> None:
    own = {"model": "own-model"}
    events = [
        event("own", **own, reported_cost_usd="0.002"),
        event("own-calculated", **own),
        event("void", **own, reported_cost_usd="0.002"),
        event("listed", reported_cost_usd="0.002"),
        event("listed-calculated"),
        event("nobody", model="nobody-lists-this", reported_cost_usd="0.002"),
    ]
    ingest(database.app, tenant, _books(database, tenant, "own-model"), body(events))
    void(database.app, tenant, "void", "test traffic")
    assert _costs(database, tenant, "own-calculated") == ("price_list", None, "0.0014", "0.0014")
    assert _costs(database, tenant, "listed") == ("reported", "0.0028", "0.002", "0.002")
    assert _costs(database, tenant, "nobody") == ("reported", "0.002", "0.002", "0.002")
    lines = {line.measure: line for line in check(database.app, tenant)}
    assert differences(lines.values()) == []
    assert str(lines["list_cost"].ledger.normalize()) == "0.0076"  # 0.0028 twice and 0.002
    assert str(lines["contracted_cost"].ledger.normalize()) == "0.0102"  # 0.002 three times, 0.0014 and 0.0028


def test_a_contract_in_euros_leaves_the_reported_dollars_alone(database: Database, tenant: TenantContext) -> None:
    books = _books(database, tenant, "own-model", "EUR")
    ingest(database.app, tenant, books, body([event("r", model="own-model", reported_cost_usd="0.002")]))
    assert _costs(database, tenant, "r") == ("reported", "0.002", "0.002", "0.002")
    assert reprice(database.app, tenant, books, JULY, AUGUST).changed == 0
    assert _exact(database, tenant)


def test_re_pricing_takes_the_list_cost_away_once_and_gives_it_back(database: Database, tenant: TenantContext) -> None:
    """The list prices o3; then only the contract does; then the list again."""
    _, contract = _books(database, tenant, "o3")  # type: ignore[misc]
    with_list: Books = (stored_book(database, [LISTED], NAMES), contract)
    without: Books = (PriceBook([], []), contract)
    ingest(database.app, tenant, with_list, body([event("r", reported_cost_usd="0.002"), event("c")]))
    assert _costs(database, tenant, "r") == ("reported", "0.0028", "0.002", "0.002")
    for books, listed in ((without, None), (with_list, "0.0028")):
        assert reprice(database.app, tenant, books, JULY, AUGUST, apply=True).changed == 2
        assert reprice(database.app, tenant, books, JULY, AUGUST, apply=True).changed == 0
        assert _costs(database, tenant, "r") == ("reported", listed, "0.002", "0.002")
        assert _costs(database, tenant, "c") == ("price_list", listed, "0.0014", "0.0014")
        assert _exact(database, tenant)
