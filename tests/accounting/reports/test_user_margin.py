"""Does every user keep a row, and do the rows add up to the ledger? Model o3: 2 a million in, 8 out."""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounting.errors import InvalidInput
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.reports import Report, ReportQuery, run
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
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
    create_tenant(database.owner, name, name, reporting_tz="Asia/Kathmandu")
    return context(database.app, name)


def _report(database: Database, tenant: TenantContext, start: str, end: str, limit: int | None = None) -> Report:
    return run(database.app, tenant, "user-margin", ReportQuery.parse(start, end, tenant.reporting_tz, limit=limit))


def _subscribe(database: Database, tenant: TenantContext, name: str, user: str, price: str, plan: str = "pro") -> None:
    put_plan(database.app, tenant, plan)
    made = make_subscription(tenant, name, plan=plan, user_id=user, monthly_price=price, starts_on="2026-01-01")
    put_subscription(database.app, tenant, made)


def test_another_zone_than_the_tenants_is_refused_with_the_reason(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match=r"tz='UTC'.*Asia/Kathmandu"):
        run(database.app, tenant, "user-margin", ReportQuery.parse("2026-07-01", "2026-08-01", "UTC"))


def test_a_moment_within_a_day_is_refused_and_a_midnight_taken(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match=r"to='2026-07-02T00:00:00\+00:00'.*start of a day"):
        _report(database, tenant, "2026-07-01", "2026-07-02T00:00:00Z")
    assert _report(database, tenant, "2026-06-30T18:15:00Z", "2026-07-02T00:00:00+05:45").rows == []


def test_grouping_is_refused(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="group_by='model'"):
        run(
            database.app,
            tenant,
            "user-margin",
            ReportQuery.parse("2026-07-01", "2026-08-01", "Asia/Kathmandu", "model"),
        )


def test_a_day_is_the_tenants_reporting_day(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    moments = ["2026-07-01T18:14:59Z", "2026-07-01T18:15:00Z"]  # midnight of 2 July between them
    events = [event(f"e{number}", occurred_at=moment, user_id=f"u{number}") for number, moment in enumerate(moments)]
    ingest(database.app, tenant, book, body(events))
    assert [row["user_id"] for row in _report(database, tenant, "2026-07-01", "2026-07-02").rows] == ["u0"]
    assert [row["user_id"] for row in _report(database, tenant, "2026-07-02", "2026-07-03").rows] == ["u1"]


def test_days_add_up_to_the_range_and_months_to_the_year(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    moments = [
        f"2026-{month:02d}-{day:02d}T{hour:02d}:15:00Z" for month in (3, 6) for day in (1, 15, 28) for hour in (17, 18)
    ]
    ingest(
        database.app,
        tenant,
        book,
        body(event(f"e{number}", occurred_at=moment, user_id="u") for number, moment in enumerate(moments)),
    )
    _subscribe(database, tenant, "s", "u", "19.99")
    whole = _report(database, tenant, "2026-01-01", "2027-01-01").totals
    parts = [(f"2026-{month:02d}-01", f"2026-{month + 1:02d}-01") for month in range(1, 12)] + [
        ("2026-12-01", "2027-01-01")
    ]
    days = [(f"2026-03-{day:02d}", f"2026-03-{day + 1:02d}") for day in range(1, 31)] + [("2026-03-31", "2026-04-01")]
    for name in ("recognised_revenue", "effective_cost", "margin", "events"):
        months = [_report(database, tenant, start, end).totals[1][name] for start, end in parts]
        assert sum(months) == whole[1][name]
        assert sum(_report(database, tenant, start, end).totals[1][name] for start, end in days) == months[2]
    assert whole[1]["recognised_revenue"] == Decimal("239.88")
    assert whole[1]["effective_cost"] == 12 * EACH


def test_a_user_whose_cost_is_unknown_comes_last(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    _subscribe(database, tenant, "s", "rich", "20")
    events = [
        event("a", user_id="dear"),
        event("b", user_id="unknown", model="nobody-knows"),
        event("c", user_id="rich"),
    ]
    ingest(database.app, tenant, book, body(events))
    rows = _report(database, tenant, "2026-07-01", "2026-08-01").rows
    assert [(row["user_id"], row["margin"], row["margin_pct"]) for row in rows] == [
        ("dear", -EACH, None),
        ("rich", Decimal("19.9972"), Decimal("99.9860")),
        ("unknown", None, None),
    ]


def test_two_plans_are_named_and_their_revenue_added(database: Database, tenant: TenantContext) -> None:
    _subscribe(database, tenant, "s1", "u", "20")
    _subscribe(database, tenant, "s2", "u", "5", plan="addon")
    (row,) = _report(database, tenant, "2026-07-01", "2026-08-01").rows
    assert (row["plans"], row["recognised_revenue"], row["effective_cost"], row["events"]) == ("addon, pro", 25, 0, 0)


def test_a_limit_leaves_the_rest_as_one_row(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    events = [
        event(f"e{number}", user_id=f"u{number}", usage={"input_tokens": 1000 * (number + 1)}) for number in range(5)
    ]
    ingest(database.app, tenant, book, body([*events, event("nobody"), event("e", purpose="eval", user_id="u0")]))
    report = _report(database, tenant, "2026-07-01", "2026-08-01", limit=2)
    assert [(row["row"], row["user_id"]) for row in report.rows] == [
        ("user", "u4"),
        ("user", "u3"),
        ("remaining_users", None),
        ("no_user", None),
        ("not_user_facing", None),
    ]
    # u2, u1, u0: (3,000 + 2,000 + 1,000) x 2 + 300 x 8 millionths.
    assert report.rows[2]["effective_cost"] == Decimal("0.0144")
    assert sum(row["effective_cost"] for row in report.rows) == report.totals[1]["effective_cost"]
    assert {line.name: line.amount for line in report.footer}["difference"] == 0
