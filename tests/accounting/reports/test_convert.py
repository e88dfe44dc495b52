"""Does a converted report foot, and does each day have its own rate? Rates and prices chosen so that a pencil is enough.

One euro is 1.25 dollars and 8 yuan on Wednesday, 1 July, and 1.6 dollars on Friday; Saturday has none of its own. A call is 1,000
tokens in and 100 out: o3 at 2 and 8 dollars a million costs 0.0028 USD, a model at 3 and 9 euros 0.0039 EUR, one at 2 and 8 yuan
0.0028 CNY.
"""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal

import pytest

from accounting.errors import InvalidInput, MissingRate
from accounting.ledger.check import check, differences
from accounting.ledger.read import charge_of
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.currency import ReferenceRate
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports import Report, ReportQuery, run
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.fx_rates import import_rates
from accounting.storage.tariffs import read_tariffs, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

TENANT = "three"
OWN = [
    Tariff("mistral", "euro-model", {"uncached_input": 3 * 10**9, "output": 9 * 10**9}, currency="EUR", source="test"),
    Tariff("deepseek", "yuan-model", {"uncached_input": 2 * 10**9, "output": 8 * 10**9}, currency="CNY", source="test"),
]
RATES = [
    ("2026-07-01", "USD", "1.25"),
    ("2026-07-01", "CNY", "8"),
    ("2026-07-03", "USD", "1.6"),
    ("2026-07-01", "JPY", "175"),
    ("2026-07-10", "USD", "1.2"),
]


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    """Wednesday: one call in each currency; Saturday one in dollars, next Friday two. A subscription of a dollar a day, four days."""
    create_tenant(database.owner, TENANT, TENANT)
    found = context(database.app, TENANT)
    rates = [ReferenceRate(code, date.fromisoformat(day), Decimal(text), "bank", "f1") for day, code, text in RATES]
    import_rates(database.owner, rates)
    listed, aliases = read_tariffs(database.app, TENANT)
    with database.owner.begin() as connection:
        write_tariffs(connection, OWN, aliases)
    named = [Alias(row.seller, row.model, row.model, "test") for row in OWN]
    book = PriceBook([*listed, *OWN], [*aliases, *named])
    sent = [
        event("usd", user_id="ann"),
        event("eur", user_id="ann", provider="mistral", model="euro-model"),
        event("cny", user_id="bob", provider="deepseek", model="yuan-model"),
        event("saturday", user_id="bob", occurred_at="2026-07-04T12:00:00Z"),
        event("later", occurred_at="2026-07-10T12:00:00Z"),
        event("eval", occurred_at="2026-07-10T12:00:00Z", purpose="eval"),
    ]
    assert ingest(database.app, found, book, body(sent)).accepted == 6
    put_plan(database.app, found, "pro")
    made = make_subscription(
        found, "s", plan="pro", user_id="ann", monthly_price="31", starts_on="2026-07-01", ends_on="2026-07-05"
    )
    put_subscription(database.app, found, made)
    return found


def _report(
    database: Database, tenant: TenantContext, name: str, currency: str | None, *, group_by: str = ""
) -> Report:
    return run(
        database.app, tenant, name, ReportQuery.parse("2026-07-01", "2026-07-05", "UTC", group_by, currency=currency)
    )


def test_every_charge_carries_the_currency_of_its_tariff(database: Database, tenant: TenantContext) -> None:
    charges = {name: charge_of(database.app, tenant, name) for name in ("usd", "eur", "cny")}
    assert {name: (charge["billing_currency"], charge["billed_cost"]) for name, charge in charges.items()} == {
        "usd": ("USD", "0.0028"),
        "eur": ("EUR", "0.0039"),
        "cny": ("CNY", "0.0028"),
    }


def test_the_ledger_equals_its_components_in_every_currency(database: Database, tenant: TenantContext) -> None:
    lines = check(database.app, tenant)
    assert {line.billing_currency for line in lines} == {"USD", "EUR", "CNY"}
    assert differences(lines) == []


def test_without_conversion_there_is_a_block_a_currency(database: Database, tenant: TenantContext) -> None:
    report = _report(database, tenant, "cost-of-revenue", None)
    totals = {row["billing_currency"]: row["effective_cost"] for row in report.totals if row["row"] == "total"}
    assert totals == {"USD": Decimal("0.0056"), "EUR": Decimal("0.0039"), "CNY": Decimal("0.0028")}
    assert report.conversions == []


def test_converted_each_day_has_its_own_rate(database: Database, tenant: TenantContext) -> None:
    # Wednesday 0.0028 x 0.8 + 0.0039 + 0.0028 x 0.125; Saturday 0.0028 x 0.625, Friday's rate.
    report = _report(database, tenant, "cost-of-revenue", "EUR", group_by="day")
    (total,) = [row for row in report.totals if row["row"] == "total"]
    assert (total["billing_currency"], total["2026-07-01"], total["2026-07-04"], total["effective_cost"]) == (
        "EUR",
        Decimal("0.00649"),
        Decimal("0.00175"),
        Decimal("0.00824"),
    )
    assert total["list_cost"] == total["billed_cost"] == Decimal("0.00824")


def test_a_converted_total_is_the_sum_of_its_rounded_lines(database: Database, tenant: TenantContext) -> None:
    # Two rows of 0.0028 / 1.2 = 0.00233...; the day as a whole is 0.0056 / 1.2 = 0.00466..., which rounds up.
    query = ReportQuery.parse("2026-07-10", "2026-07-11", "UTC", "purpose", currency="EUR")
    report = run(database.app, tenant, "cost-of-revenue", query)
    assert [row["effective_cost"] for row in report.rows] == [Decimal("0.002333333333333333")] * 2
    (total,) = [row for row in report.totals if row["row"] == "total"]
    assert total["effective_cost"] == Decimal("0.004666666666666666")
    feet = {line.name: line.amount for line in report.footer if line.billing_currency == "EUR"}
    assert feet["effective_cost_converted_by_day"] == Decimal("0.004666666666666667")
    assert feet["effective_cost_conversion_rounding"] == Decimal("-0.000000000000000001")


def test_the_footer_lists_every_conversion(database: Database, tenant: TenantContext) -> None:
    report = _report(database, tenant, "cost-of-revenue", "EUR")
    told = [
        (line.day.day, line.from_currency, line.amount, line.rate, line.rate_date.day, line.converted)
        for line in report.conversions
    ]
    assert told == [
        (1, "CNY", Decimal("0.0028"), Decimal("0.125"), 1, Decimal("0.00035")),
        (1, "USD", Decimal("0.0028"), Decimal("0.8"), 1, Decimal("0.00224")),
        (4, "USD", Decimal("0.0028"), Decimal("0.625"), 3, Decimal("0.00175")),
    ]
    assert {(line.source, line.source_version, line.to_currency) for line in report.conversions} == {
        ("bank", "f1", "EUR")
    }
    assert "reference rate of the day, else the last one published before it" in report.conversions[0].rule


def test_what_was_converted_is_tied_to_the_ledger_in_its_own_currency(
    database: Database, tenant: TenantContext
) -> None:
    report = _report(database, tenant, "cost-of-revenue", "EUR")
    ledger = {line.billing_currency: line.amount for line in report.footer if line.name == "ledger_total"}
    assert ledger == {"USD": Decimal("0.0056"), "EUR": Decimal("0.0039"), "CNY": Decimal("0.0028")}
    assert {line.amount for line in report.footer if line.name in ("difference", "booking_difference")} == {0}


def test_margins_convert_revenue_and_cost_by_day(database: Database, tenant: TenantContext) -> None:
    # A dollar a day: 1 and 2 July at 0.8, 3 and 4 July at 0.625 are 2.85 euros; ann's calls 0.00224 + 0.0039.
    report = _report(database, tenant, "user-margin", "EUR")
    users = {row["user_id"]: row for row in report.rows}
    assert (users["ann"]["recognised_revenue"], users["ann"]["effective_cost"], users["ann"]["margin"]) == (
        Decimal("2.85"),
        Decimal("0.00614"),
        Decimal("2.84386"),
    )
    assert users["bob"]["effective_cost"] == Decimal("0.0021")
    revenue = [
        (line.day.day, line.amount, line.converted)
        for line in report.conversions
        if line.measure == "recognised_revenue"
    ]
    assert revenue == [
        (1, 1, Decimal("0.8")),
        (2, 1, Decimal("0.8")),
        (3, 1, Decimal("0.625")),
        (4, 1, Decimal("0.625")),
    ]
    feet = {line.name: line.amount for line in report.footer if line.billing_currency == "EUR"}
    assert feet["recognised_revenue_converted_by_day"] == Decimal("2.85")
    assert feet["effective_cost_conversion_rounding"] == 0


def test_a_workload_counts_calls_of_every_currency_once_converted(database: Database, tenant: TenantContext) -> None:
    """0.00224 + 0.0039 + 0.00035 on Wednesday, 0.00175 on Saturday; o3 has two calls, in dollars alone 0.0056."""
    report = _report(database, tenant, "workload", "EUR", group_by="model")
    rows = {row["key"]: (row["events"], row["effective_cost"]) for row in report.rows}
    assert rows == {
        "o3": (2, Decimal("0.00399")),
        "euro-model": (1, Decimal("0.0039")),
        "yuan-model": (1, Decimal("0.00035")),
    }
    (total,) = report.totals
    assert (total["billing_currency"], total["effective_cost"]) == ("EUR", Decimal("0.00824"))
    # A hundred tokens out: two of o3 at 8 dollars x 0.8 and x 0.625, 9 euros, 8 yuan x 0.125.
    assert total["output_per_million"] == Decimal("5.35")
    assert len(report.conversions) == 3
    (dollars,) = _report(database, tenant, "workload", None).totals
    assert (dollars["events"], dollars["effective_cost"]) == (2, Decimal("0.0056"))


def test_margins_without_conversion_stay_as_billed(database: Database, tenant: TenantContext) -> None:
    report = _report(database, tenant, "user-margin", None)
    found = {(row["user_id"], row["billing_currency"]): row["recognised_revenue"] for row in report.rows}
    assert found == {("ann", "USD"): 4, ("ann", "EUR"): 0, ("bob", "USD"): 0, ("bob", "CNY"): 0}


def test_a_day_without_any_rate_is_an_error_and_never_a_guess(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(MissingRate, match="CHF on 2026-07-01"):
        _report(database, tenant, "cost-of-revenue", "CHF")


def test_a_period_without_amounts_needs_no_rate(database: Database, tenant: TenantContext) -> None:
    query = ReportQuery.parse("2026-01-01", "2026-02-01", "UTC", currency="CHF")
    report = run(database.app, tenant, "cost-of-revenue", query)
    assert [(row["billing_currency"], row["effective_cost"]) for row in report.totals] == [("CHF", 0)]


def test_what_is_no_currency_is_refused_by_name(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="currency='EURO'"):
        _report(database, tenant, "cost-of-revenue", "EURO")


def test_a_statement_in_yen_has_no_decimals(database: Database, tenant: TenantContext) -> None:
    query = ReportQuery.parse("2026-07-01", "2026-07-02", "UTC", currency="JPY")
    report = run(database.app, tenant, "user-margin", query)
    # A dollar is 140 yen that day, a yuan 21.875; costs are 0.392 + 0.6825 of ann and 0.06125 of bob.
    table = report.to_table()
    assert [line.split() for line in table.splitlines() if line.startswith(("ann", "bob"))] == [
        ["bob", "none", "0", "0", "0", "-", "1"],
        ["ann", "pro", "140", "1", "139", "99.2325", "2"],
    ]
    assert report.totals[0]["effective_cost"] == Decimal("1.13575")


def test_table_and_csv_tell_each_conversion_with_its_rate(database: Database, tenant: TenantContext) -> None:
    report = _report(database, tenant, "cost-of-revenue", "EUR")
    table = report.to_table()
    line = next(line for line in table.splitlines() if line.startswith("effective_cost") and "2026-07-04" in line)
    assert line.split() == ["effective_cost", "2026-07-04", "USD", "0.0028", "2026-07-03", "0.625", "0.00175"]
    assert "rates: bank (f1); reference rate of the day" in table
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    last = rows[-1]
    assert (last["row"], last["day"], last["amount"], last["rate"], last["rate_date"], last["converted"]) == (
        "conversion:effective_cost",
        "2026-07-04",
        "0.0028",
        "0.625",
        "2026-07-03",
        "0.00175",
    )
