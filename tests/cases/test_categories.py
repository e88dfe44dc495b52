"""Cases about lines of other categories than usage."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import Connection

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.check import check, differences
from accounting.ledger.settle import settle
from accounting.money import format_plain
from accounting.reports import ReportQuery, run
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.cases.rows import cases, row
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


@cases("N13")
def test_a_purchase_never_adds_to_the_list_cost_of_usage(case_id: str, database: Database) -> None:
    scenario, expected = row(case_id)["scenario"], row(case_id)["expected"]
    consistent = [
        Decimal(line["ListUnitPrice"]) * Decimal(line["PricingQuantity"]) == Decimal(line["ListCost"])
        for line in scenario["rows"]
    ]
    assert consistent == expected["rows_consistent"]
    create_tenant(database.owner, "focus", "FOCUS")
    tenant = context(database.app, "focus")

    def lines(_connection: Connection, _context: TenantContext) -> Iterable[NewCharge]:
        for number, line in enumerate(scenario["rows"]):
            yield NewCharge(
                charge_id=f"line:{number}",
                subject_kind="fee",
                subject_id=str(number),
                charge_period_start=datetime(2026, 6, 30, tzinfo=UTC),
                booking_period=date(2026, 6, 1),
                category=line["ChargeCategory"],
                charge_status="priced",
                seller="acme",
                model="m",
                purpose="production",
                billing_currency="USD",
                basis="test",
                list_cost=Decimal(line["ListCost"]),
                contracted_cost=Decimal(line["ContractedCost"]),
                effective_cost=Decimal(line["EffectiveCost"]),
                billed_cost=Decimal(line["BilledCost"]),
            )

    settle(database.app, tenant, settlers=(lines,))
    report = run(database.app, tenant, "cost-of-revenue", ReportQuery.parse("2026-06-01", "2026-07-01", "UTC"))
    listed = {line["category"]: format_plain(line["list_cost"]) for line in report.rows}
    assert listed == {"Purchase": "100", "Usage": expected["list_cost_of_usage_usd"]}
    feet = {line.name: format_plain(line.amount) for line in report.footer}
    assert feet["list_cost_of_usage"] == "4.95"
    assert (feet["net_cost"], feet["billed_cost"], feet["difference"]) == ("4.24", "103.24", "0")
    assert differences(check(database.app, tenant)) == []
