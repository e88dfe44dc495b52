"""Closing a month: what refuses it, where later lines are booked, and that July stays. Model o3: 2 a million in, 8 out; then 3 in."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import text

from accounting.errors import Busy, Conflict, InvalidInput
from accounting.ledger import rollups
from accounting.ledger.check import check, differences
from accounting.ledger.closing import close_month, closed, moved
from accounting.ledger.exceptions import dismiss, listed
from accounting.ledger.reprice import reprice
from accounting.ledger.revise import void
from accounting.ledger.settle import ALONE, settle
from accounting.ledger.settlers.open_month import Month, closed_months, month_of
from accounting.pipeline import TenantContext, ingest
from accounting.pricing.book import PriceBook
from accounting.storage.engine import read_only, transaction
from accounting.storage.tenants import context, create_tenant
from tests.accounting.ledger.prices import stored_book
from tests.accounting.ledger.test_reprice import NAMES, NEW, OLD
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage

JULY, AUGUST = date(2026, 7, 1), date(2026, 8, 1)
SEPTEMBER = datetime(2026, 9, 1, tzinfo=UTC)
LATE = {"occurred_at": "2026-07-31T23:59:59Z"}


@pytest.fixture(scope="module")
def books(database: Database) -> dict[str, PriceBook]:
    return {name: stored_book(database, [row], NAMES) for name, row in {"old": OLD, "new": NEW}.items()}


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest, books: dict[str, PriceBook]) -> TenantContext:
    """Two July events of 1,000 x 2 + 100 x 8 millionths = 0.0028 each."""
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    found = context(database.app, name)
    ingest(database.app, found, books["old"], body([event("a"), event("b")]))
    return found


def _lines(database: Database, tenant: TenantContext) -> list[tuple[str, str, str | None, Decimal]]:
    query = (
        "SELECT booking_period::text, charge_id, class, effective_cost FROM ledger WHERE tenant = :tenant ORDER BY 1, 2"
    )
    with transaction(database.app, tenant.tenant) as connection:
        return [(row[0], row[1], row[2], row[3]) for row in connection.execute(text(query), {"tenant": tenant.tenant})]


def test_what_comes_after_the_close_is_booked_in_august_and_july_stays(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    row = close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)
    assert Decimal(row["totals"]["USD"]["effective_cost"]) == Decimal("0.0056")
    ingest(database.app, tenant, books["old"], body([event("late", **LATE)]))
    void(database.app, tenant, "a", "test traffic")
    reprice(
        database.app,
        tenant,
        books["new"],
        datetime(2026, 7, 1, tzinfo=UTC),
        datetime(2026, 8, 1, tzinfo=UTC),
        apply=True,
    )
    assert _lines(database, tenant) == [
        ("2026-07-01", "a:0", None, Decimal("0.0028")),
        ("2026-07-01", "b:0", None, Decimal("0.0028")),
        ("2026-08-01", "a:0/reversal", "Correction", Decimal("-0.0028")),
        ("2026-08-01", "b:0/correction/1", "Correction", Decimal("0.001")),
        ("2026-08-01", "late:0", None, Decimal("0.0028")),
        ("2026-08-01", "late:0/correction/1", "Correction", Decimal("0.001")),
    ]
    lines = check(database.app, tenant)
    assert differences(lines) == []
    assert moved(database.app, tenant, lines) == []
    assert [row["month"] for row in closed(database.app, tenant)] == [JULY]


def test_a_line_that_got_into_a_closed_month_is_told_with_its_difference(
    database: Database, tenant: TenantContext
) -> None:
    close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)
    with transaction(database.owner, tenant.tenant) as connection:
        connection.execute(text("UPDATE usage_events SET output_tokens = 99 WHERE event_id = 'a'"))
    [one] = moved(database.app, tenant, check(database.app, tenant))
    assert one.describe() == "2026-07 output_tokens USD: closed at 200, now 199 (-1)"


def test_a_month_closes_once_after_those_before_it_and_when_it_is_over_everywhere(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    west = replace(tenant, reporting_tz="America/New_York")
    with pytest.raises(InvalidInput, match="not over in America/New_York"):
        close_month(database.app, west, JULY, "ann", now=datetime(2026, 8, 1, 3, 59, tzinfo=UTC))
    with pytest.raises(InvalidInput, match="not over in UTC"):
        close_month(database.app, tenant, JULY, "ann", now=datetime(2026, 7, 31, 23, 59, tzinfo=UTC))
    with pytest.raises(Conflict, match="2026-07 has charges and is open"):
        close_month(database.app, tenant, AUGUST, "ann", now=SEPTEMBER)
    close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER, dry_run=True)
    assert closed(database.app, tenant) == []
    close_month(database.app, west, JULY, "ann", now=datetime(2026, 8, 1, 4, tzinfo=UTC))
    with pytest.raises(Conflict, match="first open month is 2026-08"):
        close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)


def test_unpriced_events_are_named_with_their_number_until_they_are_accepted(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    ingest(database.app, tenant, books["old"], body([event("n", model="nobody-knows")]))
    with pytest.raises(Conflict, match="unpriced: 1 events, 1100 tokens, worth not known"):
        close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)
    row = close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER, accept=["unpriced"])
    assert row["coverage"] == {"priced": 2, "unpriced": 1, "exceptions": 0}


def test_what_providers_reported_for_unpriced_events_is_what_they_are_known_to_be_worth(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    """0.25 and 0.5 of three; priced events, the void one and the one of August don't count."""
    late = event("august", model="nobody-knows", reported_cost_usd="9", occurred_at="2026-08-01T00:00:00Z")
    reported = [event(name, model="nobody-knows", reported_cost_usd=usd) for name, usd in (("x", "0.25"), ("y", "0.5"))]
    gone = event("gone", model="nobody-knows", reported_cost_usd="7")
    ingest(database.app, tenant, books["old"], body([*reported, event("z", model="nobody-knows"), late, gone]))
    void(database.app, tenant, "gone", "test traffic")
    said = "unpriced: 3 events, 3300 tokens, worth 0.75 USD as reported by their providers, and 1 of them of a worth not known"
    with pytest.raises(Conflict, match=said):
        close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)


def test_a_month_in_which_nothing_was_ever_charged_is_closed_only_where_that_is_said(
    database: Database, tenant: TenantContext
) -> None:
    with pytest.raises(Conflict, match="month=2026-06: nothing was ever charged in it"):
        close_month(database.app, tenant, date(2026, 6, 1), "ann", now=SEPTEMBER)
    row = close_month(database.app, tenant, date(2026, 6, 1), "ann", now=SEPTEMBER, accept=["no_charges"])
    assert (row["totals"], row["accepted"]) == ({}, ["no_charges"])


def test_a_month_is_not_closed_during_a_settlement_run(database: Database, tenant: TenantContext) -> None:
    """The run would book by the months that were open when it began."""
    with transaction(database.app, tenant.tenant) as connection:
        assert connection.execute(ALONE, {"tenant": tenant.tenant}).scalar_one()
        with pytest.raises(Busy, match="a settlement run of tenant"):
            close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)
    assert closed(database.app, tenant) == []


def test_no_settlement_run_begins_during_a_close(database: Database, tenant: TenantContext) -> None:
    waits = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    closer = threading.Thread(target=lambda: close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER))
    with transaction(database.app, tenant.tenant) as connection:
        rollups.lock(connection, tenant.tenant, exclusive=False)
        closer.start()
        while not connection.execute(waits).scalar_one():
            assert closer.is_alive()
            time.sleep(0.01)
        with pytest.raises(Busy, match="another settlement run"):
            settle(database.app, tenant, settlers=[])
    closer.join(20)
    assert [row["month"] for row in closed(database.app, tenant)] == [JULY]


def test_the_next_month_closes_next_and_hours_of_both_belong_to_the_one_after(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)
    close_month(database.app, tenant, AUGUST, "ann", now=SEPTEMBER, accept=["no_charges"])
    with read_only(database.app, tenant.tenant) as connection:
        shut = closed_months(connection, tenant.tenant)
    hours = (datetime(2026, 8, 31, 23, tzinfo=UTC), SEPTEMBER)
    assert [month_of(hour, shut) for hour in hours] == [Month(SEPTEMBER.date(), True), Month(SEPTEMBER.date(), False)]


def test_an_exception_keeps_its_month_open_until_somebody_looked_at_it(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    assert len(ingest(database.app, tenant, books["old"], body([event("a", user_id="eve")])).conflicts) == 1
    with pytest.raises(Conflict, match="exceptions: 1 events, worth not known"):
        close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)
    [one] = listed(database.app, tenant)["exceptions"]
    dismiss(database.app, tenant, one["exception_id"])
    assert close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)["coverage"]["exceptions"] == 0


def test_a_close_waits_for_a_writer_in_flight_and_counts_what_it_wrote(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    rows: list[dict[str, object]] = []
    closer = threading.Thread(target=lambda: rows.append(close_month(database.app, tenant, JULY, "ann", now=SEPTEMBER)))
    with transaction(database.app, tenant.tenant) as connection:
        rollups.lock(connection, tenant.tenant, exclusive=False)
        closer.start()
        closer.join(0.3)
        assert rows == []
    closer.join(20)
    assert len(rows) == 1


def test_an_ingest_that_waited_for_a_close_books_in_the_open_month(
    database: Database, tenant: TenantContext, books: dict[str, PriceBook]
) -> None:
    writer = threading.Thread(target=lambda: ingest(database.app, tenant, books["old"], body([event("late", **LATE)])))
    with transaction(database.app, tenant.tenant) as connection:
        rollups.lock(connection, tenant.tenant, exclusive=True)
        writer.start()
        writer.join(0.3)
        assert writer.is_alive()
        connection.execute(
            text(
                "INSERT INTO closed_months (tenant, month, closed_by, totals, coverage) VALUES (:t, '2026-07-01', 'x', '{}', '{}')"
            ),
            {"t": tenant.tenant},
        )
    writer.join(20)
    assert _lines(database, tenant)[-1][:2] == ("2026-08-01", "late:0")
