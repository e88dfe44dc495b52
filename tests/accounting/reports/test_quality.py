"""Is everything uncertain of a period counted once, and nothing else? Model o3: 0.0028 a call."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from accounting.pipeline import ingest
from accounting.reports import Report, ReportQuery, run
from accounting.revenue.line_imports import import_rows
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.pool_world import PoolWorld, request
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
def report(database: Database, tenant: TenantContext) -> Report:
    return run(database.app, tenant, "quality", ReportQuery.parse("2026-07-01", "2026-08-01", "UTC"))


@pytest.fixture(scope="module")
def checks(report: Report) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in report.rows}


@pytest.mark.parametrize(
    ("check", "events"),
    [
        ("unpriced", 1),
        ("usage_missing", 0),
        ("pending_settlement", 0),
        ("pending_estimate", 0),
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


def test_what_is_booked_in_another_month_is_taken_off(report: Report) -> None:
    assert [(line.name, line.amount) for line in report.footer] == [("booked_elsewhere", Decimal("-0.0028"))]


def test_a_call_of_the_first_local_hour_of_a_month_and_a_refund_of_a_known_users_line_are_certain(
    database: Database,
) -> None:
    """00:30 of 1 August in Berlin is booked in July, its own month of UTC. The refund is ada's, as the line it is of."""
    create_tenant(database.owner, "berlin", "Berlin", "Europe/Berlin")
    own = context(database.app, "berlin")
    call = event("late-night", occurred_at="2026-07-31T22:30:00Z")
    assert ingest(database.app, own, load_book(database.app, "berlin"), body([call])).accepted == 1
    line = {"kind": "one_off", "amount": "20", "currency": "USD", "booked_on": "2026-08-01"}
    refund = {"line_id": "back", "kind": "refund", "amount": "-5", "currency": "USD", "booked_on": "2026-08-02"}
    sent = [{**line, "line_id": "sold", "user_id": "ada"}, {**refund, "refers_to": "sold"}]
    assert import_rows(database.app, own, [(n, row) for n, row in enumerate(sent, 1)]).accepted == 2
    august = ReportQuery.parse("2026-08-01", "2026-09-01", "Europe/Berlin")
    found = {row["check"]: row["events"] for row in run(database.app, own, "quality", august).rows}
    assert (found["late"], found["unmatched_revenue"]) == (0, 0)


def test_shares_that_rest_on_estimated_times_are_counted_with_their_cost(database: Database) -> None:
    """Each of three requests has its 3 s of the 9 in flight, 2.49 * 3 / 3,600; of one the first token's time is not logged."""
    world = PoolWorld.make(database)
    world.send(
        request("a", "10:00:00", None, "10:00:03"),
        request("b", "10:10:00", "10:10:01", "10:10:03"),
        request("c", "10:20:00", "10:20:01", "10:20:03"),
    )
    world.bill("2.49", "01T10")
    world.settle()
    october = ReportQuery.parse("2026-10-01", "2026-11-01", "UTC")
    [row] = [row for row in run(database.app, world.tenant, "quality", october).rows if row["check"] == "estimated"]
    assert row["events"] == 1
    assert row["booked_amount"] == pytest.approx(Decimal("0.002075"), abs=Decimal("1e-14"))


def test_what_waits_has_an_estimate_of_its_own_that_is_in_no_total(database: Database) -> None:
    """One of three has no cached tokens, one came in a day later; test_explain_pools.py has the figure."""
    world = PoolWorld.make(database)
    world.bill("2.49", "01T10")
    world.settle()
    world.send(
        request("waits", "12:00:00", "12:00:01", "12:00:03"),
        request("unknown", "12:00:00", "12:00:01", "12:00:03", usage={"cache_read_tokens": None}),
        request("later", "2026-10-02T00:00:00Z", "2026-10-02T00:00:01Z", "2026-10-02T00:00:03Z"),
    )
    day = ReportQuery.parse("2026-10-01", "2026-10-02", "UTC")
    found = {row["check"]: row for row in run(world.database.app, world.tenant, "quality", day).rows}
    assert found["pending_settlement"]["events"] == 2
    line = found["pending_estimate"]
    assert (line["events"], line["estimate"], line["booked_amount"]) == (1, Decimal("0.000203353458333"), None)
    [total] = run(world.database.app, world.tenant, "cost-of-revenue", day).outline[:1]
    assert total.row["effective_cost"] == Decimal("2.49")
