"""Is a settlement run idempotent, replayable and alone?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import Connection, text

from accounting.errors import Busy, InvalidInput
from accounting.ledger.check import check, differences
from accounting.ledger.settle import NewCharge, settle
from accounting.pipeline import ingest
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    return context(database.app, name)


def _fees(_connection: Connection, _context: TenantContext) -> Iterable[NewCharge]:
    for number in range(3):
        yield NewCharge(
            charge_id=f"fee:{number}",
            subject_kind="fee",
            subject_id=f"{number}",
            charge_period_start=datetime(2026, 7, 1, 12, tzinfo=UTC),
            booking_period=date(2026, 7, 1),
            category="Purchase",
            charge_status="priced",
            seller="acme",
            model="m1",
            purpose="production",
            billing_currency="USD",
            basis="test",
            list_cost=Decimal("0.000000000000000001"),
            contracted_cost=Decimal("0.000000000000000001"),
            effective_cost=Decimal("0.000000000000000001"),
            billed_cost=Decimal("0.000000000000000001"),
        )


def _runs(database: Database, tenant: TenantContext) -> list[tuple[object, ...]]:
    with transaction(database.app, tenant.tenant) as connection:
        query = text(
            "SELECT run_id, subjects, charges, finished_at IS NOT NULL FROM settlement_runs ORDER BY started_at"
        )
        return [tuple(row) for row in connection.execute(query)]


def test_with_nothing_to_settle_a_run_says_what_waits(database: Database, tenant: TenantContext) -> None:
    pools = ["pool-1", "pool-1", "pool-2"]
    events = [event(f"e{number}", deployment=pool) for number, pool in enumerate(pools)]
    knowing = replace(tenant, pools=frozenset(pools))
    ingest(database.app, knowing, load_book(database.app, tenant.tenant), body([*events, event("priced")]))
    summary = settle(database.app, tenant)
    assert (summary["subjects"], summary["charges"]) == ({"pool-1": 2, "pool-2": 1}, 0)
    assert _runs(database, tenant) == [(summary["run_id"], 3, 0, True)]


def test_a_settlers_lines_are_appended_once_with_their_rollups(database: Database, tenant: TenantContext) -> None:
    assert settle(database.app, tenant, settlers=[_fees])["charges"] == 3
    assert settle(database.app, tenant, settlers=[_fees])["charges"] == 0
    lines = {line.measure: line for line in check(database.app, tenant)}
    assert differences(lines.values()) == []
    assert lines["effective_cost"].rollup_15m == Decimal("0.000000000000000003")


def test_a_replayed_run_keeps_its_row_and_adds_nothing(database: Database, tenant: TenantContext) -> None:
    first = settle(database.app, tenant, run_id="july", settlers=[_fees])
    again = settle(database.app, tenant, run_id="july", settlers=[_fees])
    assert (first["run_id"], first["charges"], again["charges"]) == ("july", 3, 0)
    assert _runs(database, tenant) == [("july", 0, 3, True)]
    with transaction(database.app, tenant.tenant) as connection:
        assert connection.execute(text("SELECT DISTINCT run_id FROM charges")).scalars().all() == ["july"]


def test_a_settler_that_fails_leaves_nothing(database: Database, tenant: TenantContext) -> None:
    def fails(connection: Connection, context: TenantContext) -> Iterable[NewCharge]:
        yield from _fees(connection, context)
        raise InvalidInput("pool", "p", "has no bill")

    with pytest.raises(InvalidInput):
        settle(database.app, tenant, settlers=[_fees, fails])
    assert (_runs(database, tenant), check(database.app, tenant)) == ([], [])


def test_a_second_run_at_the_same_time_is_refused(database: Database, tenant: TenantContext) -> None:
    def nested(_connection: Connection, context: TenantContext) -> Iterable[NewCharge]:
        with pytest.raises(Busy, match=context.tenant):
            settle(database.app, context)
        return []

    assert settle(database.app, tenant, settlers=[nested])["charges"] == 0


def test_a_run_needs_a_name(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="run_id=' '"):
        settle(database.app, tenant, run_id=" ")
