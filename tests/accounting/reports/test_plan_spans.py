"""Which plan is use on: the latest begun of a user's, else that of its account, and none from the day a subscription ends?"""

from __future__ import annotations

import pytest

from accounting.pipeline import ingest
from accounting.reports import ReportQuery, run
from accounting.revenue.plans import make_subscription, put_plan, put_subscription
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage


def test_use_finds_its_plan_by_user_and_day_and_else_by_account(database: Database) -> None:
    """ann is on pro, from the 3rd on team too; bob uses her account; cyd's basic ends with the 2nd; dan has a plan of his own there."""
    create_tenant(database.owner, "spans", "Spans")
    tenant = context(database.app, "spans")
    sold = [
        ("ann", "pro", "2026-07-01", None, "acme"),
        ("ann", "team", "2026-07-03", None, "acme"),
        ("cyd", "basic", "2026-07-01", "2026-07-03", None),
        ("dan", "solo", "2026-07-01", None, None),
    ]
    for user, plan, since, until, account in sold:
        put_plan(database.app, tenant, plan)
        made = {"monthly_price": 0, "starts_on": since, "ends_on": until, "account_id": account}
        put_subscription(
            database.app, tenant, make_subscription(tenant, f"{user}-{plan}", plan=plan, user_id=user, **made)
        )
    calls = [
        ("ann", 2, None),
        ("ann", 3, None),
        ("bob", 2, "acme"),
        ("cyd", 2, None),
        ("cyd", 3, None),
        ("dan", 2, "acme"),
    ]
    sent = [
        event(f"e{number}", user_id=user, occurred_at=f"2026-07-0{day}T00:00:00Z", **({"account_id": of} if of else {}))
        for number, (user, day, of) in enumerate(calls)
    ]
    assert ingest(database.app, tenant, load_book(database.app, "spans"), body(sent)).accepted == 6
    report = run(database.app, tenant, "margin", ReportQuery.parse("2026-07-01", "2026-07-05", "UTC", "plan"))
    events = {row["plan"] or row["row"]: row["events"] for row in report.rows}
    assert events == {"pro": 2, "team": 1, "basic": 1, "solo": 1, "unmatched_usage": 1}
