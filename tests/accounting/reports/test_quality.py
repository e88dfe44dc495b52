"""Is everything uncertain of a period counted once, and nothing else? Model o3: 0.0028 a call."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from accounting.pipeline import ingest
from accounting.reports import ReportQuery, run
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage
_EXCEPTION = text(
    "INSERT INTO exceptions (tenant, exception_id, kind, event_id, format, reason, detail, context, usage_body, occurred_at, "
    "resolved_at, resolution) VALUES ('acme', :id, :kind, 'e', 'native', 'r', 'd', '{}', '{}', :at, CAST(:resolved AS timestamptz), "
    "CASE WHEN CAST(:resolved AS timestamptz) IS NOT NULL THEN 'dismissed' END)"
)
_LINE = text(
    "INSERT INTO revenue_lines (tenant, line_id, source, kind, amount, billing_currency, booked_at, recognition, line_hash, user_id) "
    "VALUES ('acme', :id, 'csv', :kind, :amount, 'USD', '2026-07-10T00:00:00Z', 'day', 'h', :user)"
)
_LATE = text("UPDATE {rollup} SET booking_period = '2026-08-01' WHERE tenant = 'acme' AND purpose = 'eval'")


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    create_tenant(database.owner, "acme", "Acme")
    own = context(database.app, "acme")
    calls = [
        event("a"),
        event("b", purpose="eval"),
        event("x", model="nobody-knows-it"),
        event("y", model="nobody-knows-it", occurred_at="2026-06-30T23:59:59Z"),
    ]
    ingest(database.app, own, load_book(database.app, "acme"), body(calls))
    with transaction(database.app, "acme") as connection:
        for number, (kind, at, resolved) in enumerate(
            [
                ("contradiction", "2026-07-02T00:00:00Z", None),
                ("conflict", "2026-07-02T00:00:00Z", None),
                ("conflict", "2026-07-02T00:00:00Z", "2026-07-03T00:00:00Z"),
                ("finding", "2026-07-31T23:59:59Z", None),
                ("finding", "2026-08-01T00:00:00Z", None),
            ]
        ):
            connection.execute(_EXCEPTION, {"id": str(number), "kind": kind, "at": at, "resolved": resolved})
        for name, kind, amount, user in (
            ("l1", "one_off", "12.5", None),
            ("l2", "one_off", "7", "ada"),
            ("l3", "payment_fee", "1", None),
        ):
            connection.execute(_LINE, {"id": name, "kind": kind, "amount": amount, "user": user})
        for rollup in ("rollup_day", "rollup_15m"):
            connection.execute(text(_LATE.text.format(rollup=rollup)))
    return own


@pytest.fixture(scope="module")
def checks(database: Database, tenant: TenantContext) -> dict[str, dict[str, Any]]:
    report = run(database.app, tenant, "quality", ReportQuery.parse("2026-07-01", "2026-08-01", "UTC"))
    return {row["check"]: row for row in report.rows}


@pytest.mark.parametrize(
    ("check", "events"),
    [
        ("unpriced", 1),
        ("usage_missing", 0),
        ("pending_settlement", 0),
        ("excepted", 1),
        ("conflicts", 1),
        ("findings", 1),
        ("late", 1),
        ("estimated", 0),
        ("unmatched_revenue", 1),
    ],
)
def test_what_is_uncertain_in_the_period_is_counted(checks: dict[str, dict[str, Any]], check: str, events: int) -> None:
    assert checks[check]["events"] == events


def test_amounts_stand_where_something_is_booked_and_are_unknown_elsewhere(checks: dict[str, dict[str, Any]]) -> None:
    amounts = {name: row["booked_amount"] for name, row in checks.items()}
    assert (amounts["late"], amounts["unmatched_revenue"]) == (Decimal("0.0028"), Decimal("12.5"))
    assert (amounts["unpriced"], amounts["excepted"]) == (None, None)
    assert amounts["estimated"] == 0


def test_shares_are_of_all_calls_of_the_period(checks: dict[str, dict[str, Any]]) -> None:
    assert checks["unpriced"]["share"] == 25  # of a, b, x and the contradiction
