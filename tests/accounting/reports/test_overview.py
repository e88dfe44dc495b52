"""Does the overview compare what it says it compares? Model o3: 1,000 in at 2, 100 out at 8 a million are 0.0028 a call."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounting.pipeline import ingest
from accounting.reports import ReportQuery, run
from accounting.reports.overview import overview
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage
NOON_11TH = datetime(2026, 11, 11, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    """November to the 10th: 3 production calls, 1 free, 1 internal; the 11th, still running: 50; October to the 10th: 2; later: 7. A
    subscription of 30 a month from 1 November on, 1 a day."""
    create_tenant(database.owner, "acme", "Acme")
    own = context(database.app, "acme")
    plan = [
        *(("2026-11-02", "production"),) * 3,
        ("2026-11-03", "free"),
        ("2026-11-04", "internal"),
        *(("2026-11-11", "production"),) * 50,
        *(("2026-10-05", "production"),) * 2,
        *(("2026-10-20", "production"),) * 7,
    ]
    calls = [
        event(f"e{number}", occurred_at=f"{day}T09:00:00Z", purpose=purpose, user_id="ada")
        for number, (day, purpose) in enumerate(plan)
    ]
    ingest(database.app, own, load_book(database.app, "acme"), body(calls))
    put_plan(database.app, own, "pro")
    paid = make_subscription(own, "s", plan="pro", user_id="ada", monthly_price="30", starts_on="2026-11-01")
    put_subscription(database.app, own, paid)
    return own


def rows(
    database: Database, tenant: TenantContext, start: str = "2026-11-01", end: str = "2026-12-01"
) -> dict[str, Any]:
    report = overview(database.app, tenant, ReportQuery.parse(start, end, "UTC"), clock=lambda: NOON_11TH)
    return {row["row"]: row for row in report.rows} | {"footer": report.footer}


def test_the_running_day_is_in_the_period_and_in_nothing_that_compares(
    database: Database, tenant: TenantContext
) -> None:
    found = rows(database, tenant)
    assert (found["period"]["events"], found["to_date"]["events"], found["before"]["events"]) == (55, 5, 2)
    assert (found["to_date"]["from"], found["to_date"]["to"]) == ("2026-11-01", "2026-11-11")
    assert (found["before"]["from"], found["before"]["to"]) == ("2026-10-01", "2026-10-11")


def test_cost_of_revenue_is_production_alone_and_all_spend_is_all(database: Database, tenant: TenantContext) -> None:
    row = rows(database, tenant)["to_date"]
    assert row["cost_of_revenue"] == Decimal("0.0084")  # 3 x 0.0028
    assert row["effective_cost"] == Decimal("0.0140")  # 5 x 0.0028
    assert row["free_tier_cost"] == Decimal("0.0028")


def test_margins_are_of_users_requests_with_and_without_the_free_tier(
    database: Database, tenant: TenantContext
) -> None:
    row = rows(database, tenant)["to_date"]
    assert row["net_revenue"] == 10  # ten days of 30 a month of 30 days
    assert row["gross_margin"] == Decimal("9.9888")  # 10 - 4 x 0.0028
    assert row["gross_margin_pct"] == Decimal("99.888")
    assert row["gross_margin_free_tier_out"] == Decimal("9.9916")  # 10 - 3 x 0.0028
    assert row["gross_margin_free_tier_out_pct"] == Decimal("99.916")


def test_the_change_is_to_date_less_before(database: Database, tenant: TenantContext) -> None:
    row = rows(database, tenant)["change"]
    assert row["cost_of_revenue"] == Decimal("0.0028")  # 0.0084 - 0.0056
    assert row["cost_of_revenue_change_pct"] == 50
    assert row["net_revenue_change_pct"] is None  # nothing was earned before
    # The margin before was -0.0056, so that it rose by 9.9944.
    assert row["gross_margin"] == Decimal("9.9944")
    assert row["gross_margin_change_pct"] == Decimal("178471.4286")  # 9.9944 / 0.0056
    assert row["events"] == 3


def test_the_run_rate_is_to_date_times_days_over_complete_days(database: Database, tenant: TenantContext) -> None:
    row = rows(database, tenant)["run_rate"]
    assert row["cost_of_revenue"] == Decimal("0.0252")  # 0.0084 x 30 / 10
    assert row["net_revenue"] == 30
    assert row["gross_margin_pct"] == Decimal("99.888")
    assert row["events"] is None


def test_a_run_rate_that_does_not_divide_is_rounded_once(database: Database, tenant: TenantContext) -> None:
    found = rows(database, tenant, "2026-11-05", "2026-11-12")
    assert found["to_date"]["to"] == "2026-11-11"
    assert found["run_rate"]["net_revenue"] == 7  # six days of 1, of seven
    found = rows(database, tenant, "2026-11-02", "2026-11-15")
    assert found["run_rate"]["cost_of_revenue"] == Decimal("0.012133333333333333")  # 0.0084 x 13 / 9


def test_before_the_first_complete_day_nothing_is_compared(database: Database, tenant: TenantContext) -> None:
    found = rows(database, tenant, "2026-11-11", "2026-11-12")
    assert found["period"]["events"] == 50
    for name in ("to_date", "before", "change", "run_rate"):
        assert found[name]["cost_of_revenue"] is None
        assert found[name]["events"] is None


def test_statement_and_margin_report_agree(database: Database, tenant: TenantContext) -> None:
    [line] = rows(database, tenant)["footer"]
    assert (line.name, line.amount) == ("difference", 0)


def test_it_is_a_report_like_the_others(database: Database, tenant: TenantContext) -> None:
    report = run(database.app, tenant, "overview", ReportQuery.parse("2026-11-01", "2026-12-01", "UTC"))
    assert report.to_csv().splitlines()[1].startswith("period,USD,2026-11-01,2026-12-01,30,")
