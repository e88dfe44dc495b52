"""Does the statement say what of the contracted cost has no list price? 1,000 in and 100 out at 1 and 4 a million are 0.0014."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounting.ledger.reprice import reprice
from accounting.ledger.revise import void
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.contracted import contracted_rows
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports import ReportQuery, run
from accounting.storage.engine import transaction
from accounting.storage.tariffs import write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage

MILLION = 10**9
LISTED = Tariff("openai", "o3", {"uncached_input": 2 * MILLION, "output": 8 * MILLION}, source="test")
NAMES = [Alias("openai", "o3", "o3", "test")]
NAME = "contracted_cost_without_list_price"


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    return context(database.app, name)


def _books(database: Database, tenant: TenantContext, currency: str = "USD") -> tuple[PriceBook, PriceBook]:
    """The list, which prices o3 alone, and over it the tenant's own prices of own-model, and of euro-model in a currency."""
    prices = {"uncached_input": 1 * MILLION, "output": 4 * MILLION}
    own = [
        Tariff("openai", "own-model", prices, tenant=tenant.tenant, source="contract"),
        Tariff("openai", "euro-model", prices, tenant=tenant.tenant, currency=currency, source="contract"),
    ]
    with transaction(database.owner, tenant.tenant) as connection:
        write_tariffs(connection, own, [])
    return stored_book(database, [LISTED], NAMES), PriceBook(*contracted_rows([LISTED], NAMES, [], own))


def _unlisted(database: Database, tenant: TenantContext, start: str = "2026-07-01", end: str = "2026-08-01") -> object:
    report = run(database.app, tenant, "cost-of-revenue", ReportQuery.parse(start, end, "UTC"))
    return [
        (line.billing_currency, line.amount, line.note.split(";")[0].removeprefix("events that no list prices: "))
        for line in report.footer
        if line.name == NAME
    ]


def test_usage_without_a_list_price_is_told_by_currency_in_its_period_alone(
    database: Database, tenant: TenantContext
) -> None:
    events = [
        event("a", model="own-model"),
        event("b", model="own-model", occurred_at="2026-07-31T23:59:59Z"),
        event("later", model="own-model", occurred_at="2026-08-01T00:00:00Z"),
        event("euro", model="euro-model"),
        event("void", model="own-model"),
        event("listed"),
        event("unpriced", model="nobody-knows"),
    ]
    ingest(database.app, tenant, _books(database, tenant, "EUR"), body(events))
    void(database.app, tenant, "void", "test traffic")
    assert _unlisted(database, tenant) == [("EUR", Decimal("0.0014"), "1"), ("USD", Decimal("0.0028"), "2")]
    assert _unlisted(database, tenant, "2026-08-01", "2026-09-01") == [("USD", Decimal("0.0014"), "1")]


def test_where_everything_has_a_list_price_there_is_no_such_line(database: Database, tenant: TenantContext) -> None:
    ingest(database.app, tenant, _books(database, tenant), body([event("a"), event("b", model="nobody-knows")]))
    assert _unlisted(database, tenant) == []


def test_an_event_that_loses_its_list_price_joins_and_leaves_again(database: Database, tenant: TenantContext) -> None:
    own = Tariff("openai", "o3", {"uncached_input": MILLION, "output": 4 * MILLION}, tenant=tenant.tenant, source="c")
    with transaction(database.owner, tenant.tenant) as connection:
        write_tariffs(connection, [own], [])
    listed = stored_book(database, [LISTED], NAMES)
    contract = PriceBook(*contracted_rows([LISTED], NAMES, [], [own]))
    ingest(database.app, tenant, (listed, contract), body([event("a")]))
    period = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
    assert _unlisted(database, tenant) == []
    reprice(database.app, tenant, (PriceBook([], []), contract), *period, apply=True)
    assert _unlisted(database, tenant) == [("USD", Decimal("0.0014"), "1")]
    reprice(database.app, tenant, (listed, contract), *period, apply=True)
    assert _unlisted(database, tenant) == []
