"""What one user cost, by day, feature and model. Model o3: 2 a million in, 8 out; 1,000 in and 100 out are 0.0028."""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounting.errors import InvalidInput, MissingRate, NotFound
from accounting.pipeline import ingest
from accounting.reports import ReportQuery, run
from accounting.reports.one_user import one_user
from accounting.reports.user_days import user_days
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

JULY = ReportQuery.parse("2026-07-01", "2026-07-04", "Asia/Kolkata")
FIRST, THIRD = "2026-06-30T18:30:00Z", "2026-07-03T18:29:59Z"  # first moment of 1 July and last of 3 July there


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "single", "Single", reporting_tz="Asia/Kolkata")
    made = context(database.app, "single")
    put_plan(database.app, made, "pro")
    sold = make_subscription(
        made, "s1", plan="pro", user_id="ann", monthly_price="31", starts_on="2026-07-01", ends_on="2026-08-01"
    )
    put_subscription(database.app, made, sold)
    ann = {"user_id": "ann", "feature": "chat"}
    events = [
        event("a1", occurred_at=FIRST, **ann),
        event("a2", occurred_at=FIRST, **ann, usage={"output_tokens": 1100}),  # 0.002 + 0.0088
        event("a3", occurred_at=THIRD, user_id="ann", model="nobody-prices-this"),
        event("a4", occurred_at="2026-07-03T18:30:00Z", **ann),  # the fourth
        event("a5", occurred_at="2026-07-02T12:00:00Z", **ann, purpose="eval"),
        event("b1", occurred_at=THIRD, user_id="bob"),
    ]
    ingest(database.app, made, load_book(database.app, "single"), body(events))
    return made


def test_each_day_has_its_cost_0_without_usage_and_none_where_nothing_is_priced(
    database: Database, tenant: TenantContext
) -> None:
    days, users = user_days(database.app, tenant, JULY, ["ann", "bob", "nobody"])
    assert [day.isoformat() for day in days] == ["2026-07-01", "2026-07-02", "2026-07-03"]
    assert [(one.user_id, one.billing_currency, one.effective_cost, one.events) for one in users] == [
        ("ann", "USD", [Decimal("0.0136"), Decimal(0), None], [2, 0, 1]),
        ("bob", "USD", [Decimal(0), Decimal(0), Decimal("0.0028")], [0, 0, 1]),
    ]


def test_too_many_users_or_days_are_refused_by_name(database: Database, tenant: TenantContext) -> None:
    assert user_days(database.app, tenant, JULY, ["u"] * 200)[1] == []
    with pytest.raises(InvalidInput, match="user_id=201"):
        user_days(database.app, tenant, JULY, ["u"] * 201)
    with pytest.raises(InvalidInput, match=r"to='2027-08-06'.*400 days"):
        user_days(database.app, tenant, ReportQuery.parse("2026-07-01", "2027-08-06", "Asia/Kolkata"), ["u"])


def test_one_user_is_its_row_of_the_margin_and_its_spending(database: Database, tenant: TenantContext) -> None:
    found = one_user(database.app, tenant, JULY, "ann")
    (row,) = found.margin
    # 31 days of July at 1 a day, three of them in the period; 0.0028 + 0.0108 of usage
    assert (row["net_revenue"], row["provider_cost"], row["gross_margin"]) == (
        Decimal(3),
        Decimal("0.0136"),
        Decimal("2.9864"),
    )
    assert [
        (
            line["feature"],
            line["model"],
            line["effective_cost"],
            line["events"],
            line["unpriced_events"],
            line["tokens"],
        )
        for line in found.spent
    ] == [
        ("chat", "o3", Decimal("0.0136"), 2, 0, 3200),
        (None, "nobody-prices-this", None, 1, 1, 1100),
    ]


def test_what_others_cost_is_not_read(database: Database, tenant: TenantContext) -> None:
    """No rate of the yen is known: all users of the days can't be converted, a user of another day without anything in dollars can."""
    asked = ReportQuery.parse("2026-07-05", "2026-07-06", "Asia/Kolkata", currency="JPY")
    sent = [event("o1", occurred_at="2026-07-05T12:00:00Z", user_id="bob")]
    ingest(database.app, tenant, load_book(database.app, "single"), body(sent))
    with pytest.raises(MissingRate):
        run(database.app, tenant, "margin", asked)
    with pytest.raises(NotFound, match="user_id='cyd'"):
        one_user(database.app, tenant, asked, "cyd")


def test_a_user_without_usage_and_revenue_is_not_found(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(NotFound, match="user_id='nobody'"):
        one_user(database.app, tenant, JULY, "nobody")


def test_use_falls_into_ranges_with_those_who_lose_money(database: Database, tenant: TenantContext) -> None:
    report = run(database.app, tenant, "plan-profitability", JULY)
    (section,) = [one for one in report.to_json()["sections"] if one["name"] == "use_distribution"]
    ranges = [
        (row["unit"], row["from_use"], row["below_use"], row["subscribers"], row["loss_making"])
        for row in section["rows"]
    ]
    assert ranges == [("requests", 2, 5, 1, 0), ("tokens", 2_000, 5_000, 1, 0)]
