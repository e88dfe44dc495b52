"""Does the statement show all spend, cut as asked, and equal the ledger? Model o3: 2 a million in, 8 out since June 2025."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import text

from accounting.errors import InvalidInput
from accounting.ledger.exceptions import dismiss, listed
from accounting.ledger.revise import revise, void
from accounting.ledger.settle import NewCharge, settle
from accounting.pipeline import ingest, ingest_wire
from accounting.pricing.book import PriceBook
from accounting.reports import Report, ReportQuery, run
from accounting.reports.frame import to_frame
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from accounting.usage.items import contexts
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage
EACH = Decimal("0.0028")  # 1,000 x 2 + 100 x 8 millionths


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    return context(database.app, name)


@pytest.fixture(scope="module")
def year(database: Database, book: PriceBook) -> TenantContext:
    """400 events at random quarter hours and seconds of 2026, in a zone of +05:45."""
    create_tenant(database.owner, "year", "Year", reporting_tz="Asia/Kathmandu")
    found = context(database.app, "year")
    chance, start = random.Random(20260101), datetime(2025, 12, 31, 18, 15, tzinfo=UTC)
    events = [
        event(
            f"e{number}",
            occurred_at=(start + timedelta(seconds=chance.randrange(365 * 86_400))).isoformat(),
            usage={"input_tokens": chance.randrange(1, 99_999), "output_tokens": chance.randrange(999)},
            purpose=chance.choice(["production", "free", "eval", "internal"]),
            model=chance.choice(["o3", "gpt-4o-mini", "no-such-model"]),
        )
        for number in range(400)
    ]
    edges = ["2025-12-31T18:15:00Z", "2026-01-31T18:14:59Z", "2026-01-31T18:15:00Z", "2026-12-31T18:14:59.999999Z"]
    events += [event(f"edge{number}", occurred_at=moment) for number, moment in enumerate(edges)]
    assert ingest(database.app, found, book, body(events), now=datetime(2027, 1, 1, tzinfo=UTC)).accepted == 404
    return found


def _report(
    database: Database, tenant: TenantContext, start: str, end: str, tz: str = "UTC", group_by: str = ""
) -> Report:
    return run(database.app, tenant, "cost-of-revenue", ReportQuery.parse(start, end, tz, group_by))


def _total(report: Report) -> dict[str, Any]:
    (total,) = [row for row in report.totals if row["row"] == "total"]
    return total


def _feet(report: Report) -> dict[str, Decimal]:
    return {line.name: line.amount for line in report.footer}


@pytest.mark.parametrize("tz", ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe"])
def test_local_days_and_months_add_up_to_the_range(database: Database, year: TenantContext, tz: str) -> None:
    days = _report(database, year, "2026-03-01", "2026-06-01", tz, "day")
    months = _report(database, year, "2026-03-01", "2026-06-01", tz)
    total = _total(days)
    named = [column.name for column in days.columns if column.name.startswith("2026-")]
    assert len(named) == 92
    assert sum(total[day] or 0 for day in named) == total["effective_cost"] == _total(months)["effective_cost"]
    for month in ("2026-03", "2026-04", "2026-05"):
        assert sum(total[day] or 0 for day in named if day.startswith(month)) == _total(months)[month]
    assert {_feet(report)[name] for report in (days, months) for name in ("difference", "booking_difference")} == {0}


@pytest.mark.parametrize("tz", ["Asia/Kolkata", "Asia/Kathmandu"])
def test_single_days_asked_one_by_one_add_up_to_the_range(database: Database, year: TenantContext, tz: str) -> None:
    days = [f"2026-02-{day:02d}" for day in range(1, 29)] + ["2026-03-01"]
    singles = [_total(_report(database, year, first, until, tz)) for first, until in pairwise(days)]
    whole = _total(_report(database, year, "2026-02-01", "2026-03-01", tz))
    assert sum(row["effective_cost"] or 0 for row in singles) == whole["effective_cost"]
    assert sum(row["events"] for row in singles) == whole["events"]


def test_months_asked_one_by_one_add_up_to_the_year(database: Database, year: TenantContext) -> None:
    firsts = [f"2026-{month:02d}-01" for month in range(1, 13)] + ["2027-01-01"]
    singles = [_total(_report(database, year, first, until, "Asia/Kathmandu")) for first, until in pairwise(firsts)]
    whole = _report(database, year, "2026-01-01", "2027-01-01", "Asia/Kathmandu")
    assert _total(whole)["events"] == 404
    assert sum(row["effective_cost"] for row in singles) == _total(whole)["effective_cost"]
    assert [row[f"2026-{month:02d}"] for month, row in enumerate(singles, 1)] == [
        _total(whole)[f"2026-{month:02d}"] for month in range(1, 13)
    ]


def test_every_grouping_has_the_same_total(database: Database, year: TenantContext) -> None:
    totals = {
        group_by: _total(_report(database, year, "2026-01-01", "2027-01-01", "Asia/Kathmandu", group_by))[
            "effective_cost"
        ]
        for group_by in ("", "seller", "model", "purpose", "day,purpose", "month,model,purpose,seller")
    }
    with transaction(database.app, year.tenant) as connection:
        ledger = connection.execute(text("SELECT sum(effective_cost) FROM ledger")).scalar_one()
    assert set(totals.values()) == {ledger}


def test_groups_are_the_columns_asked_for(database: Database, year: TenantContext) -> None:
    report = _report(database, year, "2026-01-01", "2026-02-01", "Asia/Kathmandu", "purpose,model")
    assert [column.name for column in report.columns][:5] == [
        "row",
        "billing_currency",
        "statement_line",
        "purpose",
        "model",
    ]
    assert {(row["statement_line"], row["purpose"]) for row in report.rows} == {
        ("cost_of_revenue", "production"),
        ("sales_and_marketing", "free"),
        ("research_and_development", "eval"),
        ("internal", "internal"),
    }


@pytest.mark.parametrize(
    ("group_by", "value"), [("user", "user"), ("month,day", "month,day"), ("seller,seller", "seller")]
)
def test_a_grouping_that_can_not_be_is_refused(
    database: Database, tenant: TenantContext, group_by: str, value: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        _report(database, tenant, "2026-01-01", "2026-02-01", group_by=group_by)
    assert (caught.value.field, caught.value.value) == ("group_by", value)


def test_a_limit_is_refused(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="limit=10"):
        run(database.app, tenant, "cost-of-revenue", ReportQuery.parse("2026-01-01", "2026-02-01", "UTC", limit=10))


def test_an_unpriced_row_is_unknown_and_an_empty_month_is_zero(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event("a"), event("b", model="nobody-knows")]))
    report = _report(database, tenant, "2026-07-01", "2026-09-01")
    unknown, priced = report.rows
    assert (unknown["model"], unknown["2026-07"], unknown["2026-08"]) == ("nobody-knows", None, 0)
    assert (unknown["effective_cost"], unknown["unpriced_events"]) == (None, 1)
    assert (priced["model"], priced["2026-07"], priced["billed_cost"]) == ("o3", EACH, EACH)
    assert (_total(report)["effective_cost"], _total(report)["unpriced_events"]) == (EACH, 1)


def test_a_pending_event_is_in_its_own_coverage_line_and_in_no_total(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    knowing = replace(tenant, pools=frozenset({"pool-1"}))
    ingest(database.app, knowing, book, body([event("a"), event("b", deployment="pool-1")]))
    report = _report(database, tenant, "2026-07-01", "2026-08-01")
    assert _total(report)["effective_cost"] == EACH
    assert [(row["status"], row["events"], row["tokens"]) for row in report.coverage] == [
        ("priced", 1, 1100),
        ("unpriced", 0, 0),
        ("pending_settlement", 1, 1100),
        ("usage_missing", 0, None),
        ("excepted", 0, None),
    ]


def test_a_call_without_usage_is_in_its_own_coverage_line_until_its_usage_is_known(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    lost = event("lost") | {"usage": None}
    ingest(database.app, tenant, book, body([event("a"), lost, event("b", model="nobody-knows")]))
    coverage = _report(database, tenant, "2026-07-01", "2026-08-01").coverage
    assert {row["status"]: row["events"] for row in coverage} == {
        "priced": 1,
        "unpriced": 1,
        "pending_settlement": 0,
        "usage_missing": 1,
        "excepted": 0,
    }
    revise(database.app, tenant, book, "lost", json.dumps(event("lost")).encode())
    coverage = _report(database, tenant, "2026-07-01", "2026-08-01").coverage
    assert {row["status"]: row["events"] for row in coverage if row["events"]} == {"priced": 2, "unpriced": 1}


def test_an_open_contradiction_is_in_the_coverage_of_its_period_and_in_no_total(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    chat = {"id": "c", "object": "chat.completion", "model": "o3", "usage": {"prompt_tokens": -1}}
    item = {"response": chat, "context": {"occurred_at": "2026-07-31T23:59:59Z"}}
    ingest_wire(database.app, tenant, book, "openai_chat", contexts([item], "openai_chat"))
    july, august = (_report(database, tenant, *period) for period in (
        ("2026-07-01", "2026-08-01"), ("2026-08-01", "2026-09-01"),
    ))  # fmt: skip
    assert (_total(july)["effective_cost"], _total(july)["events"]) == (EACH, 1)
    assert july.coverage[-1]["events"] == 1
    assert str(july.coverage[-1]["event_share"]) == "50.0000"
    assert "excepted                 1           50       -            -" in july.to_table()
    assert august.coverage[-1]["events"] == 0
    [row] = listed(database.app, tenant)["exceptions"]
    dismiss(database.app, tenant, row["exception_id"])
    assert _report(database, tenant, "2026-07-01", "2026-08-01").coverage[-1]["events"] == 0


def test_an_empty_period_has_a_total_of_zero(database: Database, tenant: TenantContext) -> None:
    report = _report(database, tenant, "2026-07-01", "2026-08-01")
    assert report.rows == []
    assert (_total(report)["2026-07"], _total(report)["effective_cost"], _total(report)["events"]) == (0, 0, 0)
    assert _feet(report)["difference"] == 0
    assert "total" in report.to_table()


def test_totals_do_not_wrap_past_the_int64_limit(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    # 1,000,000,000 tokens out at 8 a million: 8,000; four of them are 3.2 x 10^19 units of 10^-15, an int64 ends at 9.2 x 10^18.
    events = [event(f"e{number}", usage={"input_tokens": 0, "output_tokens": 10**9}) for number in range(4)]
    ingest(database.app, tenant, book, body(events))
    report = _report(database, tenant, "2026-07-01", "2026-08-01")
    assert _total(report)["effective_cost"] == 32_000
    assert to_frame(report)["effective_cost"].sum() == Decimal(32_000)


def test_a_policy_moves_cost_from_its_reporting_day_on_in_a_report_of_any_zone(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    with transaction(database.owner, tenant.tenant) as connection:
        connection.execute(
            text("INSERT INTO purpose_policies VALUES (:t, 'free', '2026-07-02', 'cost_of_revenue')"),
            {"t": tenant.tenant},
        )
    before, after = (
        "2026-07-01T23:59:59Z",
        "2026-07-02T00:00:00Z",
    )  # both 2 July in Kolkata; the tenant's days are UTC's
    ingest(
        database.app,
        tenant,
        book,
        body([event("a", occurred_at=before, purpose="free"), event("b", occurred_at=after, purpose="free")]),
    )
    for zone in ("UTC", "Asia/Kolkata"):
        report = _report(database, tenant, "2026-07-01", "2026-08-01", zone)
        assert [(row["statement_line"], row["2026-07"]) for row in report.rows] == [
            ("cost_of_revenue", EACH),
            ("sales_and_marketing", EACH),
        ]


def test_a_void_event_leaves_the_statement(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ingest(database.app, tenant, book, body([event("a"), event("b")]))
    void(database.app, tenant, "a", "test traffic")
    report = _report(database, tenant, "2026-07-01", "2026-08-01")
    assert (_total(report)["effective_cost"], _total(report)["events"]) == (EACH, 1)


def test_a_late_line_stands_in_its_charge_period_and_the_footer_bridges(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    late = NewCharge(
        charge_id="late",
        subject_kind="fee",
        subject_id="f",
        charge_period_start=datetime(2026, 7, 31, 23, 45, tzinfo=UTC),
        booking_period=datetime(2026, 8, 1, tzinfo=UTC).date(),
        category="Adjustment",
        charge_status="priced",
        seller="openai",
        model="o3",
        purpose="production",
        billing_currency="USD",
        basis="test",
        **dict.fromkeys(
            ("list_cost", "contracted_cost", "effective_cost", "billed_cost"), Decimal("-0.000000000000000007")
        ),
    )
    settle(database.app, tenant, settlers=[lambda _connection, _context: [late]])
    july, august = (
        _report(database, tenant, "2026-07-01", "2026-08-01"),
        _report(database, tenant, "2026-08-01", "2026-09-01"),
    )
    assert _total(july)["effective_cost"] == Decimal("0.002799999999999993")
    assert _feet(july) | {"booking_period_total": None} == {
        "ledger_total": Decimal("0.002799999999999993"),
        "difference": 0,
        "booked_in_other_months": Decimal("0.000000000000000007"),
        "incurred_outside": 0,
        "booking_period_total": None,
        "booking_difference": 0,
        "list_cost_of_usage": EACH,
        "contracted_cost_of_usage": EACH,
        "gross_cost": Decimal("0.002799999999999993"),
        "credits": 0,
        "net_cost": Decimal("0.002799999999999993"),
        "billed_cost": Decimal("0.002799999999999993"),
    }
    assert _feet(july)["booking_period_total"] == EACH
    assert _total(august)["effective_cost"] == 0
    assert (
        _feet(august)["incurred_outside"] == _feet(august)["booking_period_total"] == Decimal("-0.000000000000000007")
    )
    assert _feet(august)["booking_difference"] == 0


def test_another_currency_has_its_own_total(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    with transaction(database.app, tenant.tenant) as connection:
        connection.execute(
            text(
                "INSERT INTO rollup_day SELECT tenant, bucket, booking_period, seller, model, purpose, charge_status, 'EUR', "
                "events, 0, 0, 0, 0, 7, 7, 7, 7, category FROM rollup_day"
            )
        )
    report = _report(database, tenant, "2026-07-01", "2026-08-01")
    assert {row["billing_currency"]: row["effective_cost"] for row in report.totals if row["row"] == "total"} == {
        "EUR": 7,
        "USD": EACH,
    }
    assert "EUR" in report.to_table()
