"""Is a reported cost in dollars compared with a calculated one in euros only after conversion, with the rate told?

1,000 tokens in at 3 euros a million and 100 out at 9 are 0.0039 EUR; at 1.25 dollars a euro that is 0.004875 USD.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounting.ledger.check import check, differences
from accounting.ledger.read import charge_of
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.currency import ReferenceRate
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.fx_rates import import_rates
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

EUROS = Tariff(
    "mistral", "euro-model", {"uncached_input": 3 * 10**9, "output": 9 * 10**9}, currency="EUR", source="test"
)
BOOK = PriceBook([EUROS], [Alias("mistral", "euro-model", "euro-model", "test")])
CALL: dict[str, Any] = {"provider": "mistral", "model": "euro-model", "reported_cost_usd": "0.005"}


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "both", "Both", reporting_tz="Asia/Tokyo")
    import_rates(database.owner, [ReferenceRate("USD", date(2026, 7, 1), Decimal("1.25"), "bank", "f1")])
    return context(database.app, "both")


def _charge(database: Database, tenant: TenantContext, event_id: str, **changes: Any) -> dict[str, Any]:
    assert ingest(database.app, tenant, BOOK, body([event(event_id, **CALL, **changes)])).accepted == 1
    return charge_of(database.app, tenant, event_id)


def test_the_calculated_cost_is_converted_before_it_is_compared(database: Database, tenant: TenantContext) -> None:
    charge = _charge(database, tenant, "a")
    assert (charge["billing_currency"], charge["billed_cost"]) == ("EUR", "0.0039")
    assert (charge["reported_cost_usd"], charge["variance_usd"]) == ("0.005", "0.000125")
    assert (charge["variance_rate"]["rate"], charge["variance_rate"]["rate_date"]) == ("1.25", "2026-07-01")
    assert charge["variance_rate"]["source"] == "bank"


def test_the_rate_is_that_of_the_reporting_day(database: Database, tenant: TenantContext) -> None:
    # 16:00 in UTC on 30 June is 01:00 on 1 July in Tokyo.
    charge = _charge(database, tenant, "b", occurred_at="2026-06-30T16:00:00Z")
    assert (charge["variance_usd"], charge["variance_rate"]["date"]) == ("0.000125", "2026-07-01")


def test_without_a_rate_the_variance_is_unknown_and_says_why(database: Database, tenant: TenantContext) -> None:
    charge = _charge(database, tenant, "c", occurred_at="2026-08-01T12:00:00Z")
    assert charge["variance_usd"] is None
    assert charge["variance_reason"].startswith("currency='USD on 2026-08-01': no exchange rate is known")


def test_a_reported_cost_that_is_booked_has_no_euros_beside_its_dollars(
    database: Database, tenant: TenantContext
) -> None:
    ruled = replace(tenant, reported_costs=frozenset({("mistral", "")}))
    charge = _charge(database, ruled, "d")
    assert (charge["basis"], charge["billing_currency"], charge["sku_price_id"]) == ("reported", "USD", None)
    assert (charge["list_cost"], charge["billed_cost"], charge["variance_usd"]) == ("0.005", "0.005", None)
    assert [line for line in differences(check(database.app, tenant)) if line.billing_currency == "USD"] == []
