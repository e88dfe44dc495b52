"""Voids and revisions: nothing is edited, and the sums are what a direct posting would have given."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import text

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.ledger.check import check
from accounting.ledger.revise import revise, void
from accounting.ledger.rollups import rebuild
from accounting.pipeline import TenantContext, ingest
from accounting.pricing.book import PriceBook
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    return context(database.app, name)


def _single(changed: dict[str, object]) -> bytes:
    return body([changed])[1:-1]


def _sums(database: Database, tenant: TenantContext) -> tuple[int, Decimal]:
    with transaction(database.app, tenant.tenant) as connection:
        row = connection.execute(text("SELECT sum(events), coalesce(sum(effective_cost), 0) FROM ledger")).one()
    return int(row[0]), row[1]


def _exact(database: Database, tenant: TenantContext) -> bool:
    return not any(line.differs for line in check(database.app, tenant))


def test_a_void_event_counts_and_costs_nothing(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ingest(database.app, tenant, book, body([event("a"), event("b")]))
    assert _sums(database, tenant) == (2, Decimal("0.0056"))  # each 1,000 x 2 + 100 x 8 millionths
    answer = void(database.app, tenant, "a", "test traffic")
    assert answer == {"event_id": "a", "revision": 1, "status": "void", "reversed_charge_ids": ["a:0"]}
    assert _sums(database, tenant) == (1, Decimal("0.0028"))
    assert _exact(database, tenant)


def test_voiding_twice_changes_nothing(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    first = void(database.app, tenant, "a", "test traffic")
    assert void(database.app, tenant, "a", "again") == first
    assert _sums(database, tenant) == (0, Decimal(0))


def test_a_revision_gives_the_sums_of_a_direct_posting(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    better = event("a", occurred_at="2026-08-02T00:00:00Z", user_id="u1", usage={"output_tokens": 1_000})
    answer = revise(database.app, tenant, book, "a", _single(better))
    assert answer == {"event_id": "a", "revision": 1, "status": "priced", "reversed_charge_ids": ["a:0"]}
    assert _sums(database, tenant) == (1, Decimal("0.01"))  # 1,000 x 2 + 1,000 x 8 millionths
    assert _exact(database, tenant)
    again = revise(database.app, tenant, book, "a", _single(better))
    assert again == {"event_id": "a", "revision": 1, "status": "priced", "reversed_charge_ids": []}


def test_a_revised_event_can_be_revised_and_voided(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    revise(database.app, tenant, book, "a", _single(event("a", usage={"output_tokens": 1})))
    revise(database.app, tenant, book, "a", _single(event("a", model="unknown-model")))
    assert _sums(database, tenant) == (1, Decimal(0))
    answer = void(database.app, tenant, "a", "gone")
    assert (answer["revision"], answer["reversed_charge_ids"]) == (3, ["a:2"])
    assert _sums(database, tenant) == (0, Decimal(0))
    assert _exact(database, tenant)


def test_a_rebuild_after_corrections_gives_the_same_rollups(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event(f"e{number}", user_id=f"u{number}") for number in range(5)]))
    void(database.app, tenant, "e1", "x")
    revise(database.app, tenant, book, "e2", _single(event("e2", user_id="other")))
    query = text("SELECT * FROM rollup_user_day ORDER BY 1, 2, 3, 4, 5, 6, 7, 8")
    with transaction(database.app, tenant.tenant) as connection:
        kept = connection.execute(query).all()
        rebuild(connection, tenant.tenant, tenant.reporting_tz)
        assert connection.execute(query).all() == kept


def test_unknown_void_and_mismatched_corrections_are_refused(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event("a")]))
    with pytest.raises(NotFound, match="'z'"):
        void(database.app, tenant, "z", "x")
    with pytest.raises(InvalidInput, match="reason"):
        void(database.app, tenant, "a", " ")
    with pytest.raises(InvalidInput, match="event_id='b'"):
        revise(database.app, tenant, book, "a", _single(event("b")))
    with pytest.raises(InvalidInput, match=r"usage\.output_tokens"):
        revise(database.app, tenant, book, "a", _single(event("a", usage={"reasoning_tokens": 101})))
    void(database.app, tenant, "a", "x")
    with pytest.raises(Conflict, match="is void"):
        revise(database.app, tenant, book, "a", _single(event("a", user_id="u")))
