"""The straight line on a real database: counted once, priced, rolled up, and every sent row accounted for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from accounting.ledger.check import check
from accounting.pipeline import IngestResult, TenantContext, ingest
from accounting.pricing.book import PriceBook
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from tests.conftest import Database
from tests.events import body, event, lines
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


def _send(database: Database, tenant: TenantContext, book: PriceBook, *events: dict[str, object]) -> IngestResult:
    return ingest(database.app, tenant, book, body(events))


def _ledger(database: Database, tenant: TenantContext) -> list[tuple[object, ...]]:
    with transaction(database.app, tenant.tenant) as connection:
        query = "SELECT charge_id, charge_status, effective_cost::text FROM ledger ORDER BY charge_id"
        return [tuple(row) for row in connection.execute(text(query))]


def test_an_event_is_priced_in_the_ledger_to_the_last_digit(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    # o3 since 2025-06-10: 2 dollars a million in, 0.5 cached, 8 out. 600 x 2 + 400 x 0.5 + 100 x 8 = 2,200 millionths.
    result = _send(database, tenant, book, event("a", usage={"cache_read_tokens": 400}))
    assert result.to_json() == {"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}
    assert _ledger(database, tenant) == [("a:0", "priced", "0.002200000000000")]


def test_the_same_body_again_is_a_duplicate_also_when_written_otherwise(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(database, tenant, book, event("a"))
    same = event(
        "a", occurred_at="2026-07-01T17:30:00.000+05:30", batch=False, user_id=None, usage={"cache_write_tokens": 0}
    )
    assert _send(database, tenant, book, same).duplicates == 1
    assert len(_ledger(database, tenant)) == 1


def test_another_body_under_a_known_id_is_a_conflict_and_the_first_stays(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(database, tenant, book, event("a"))
    result = _send(database, tenant, book, event("b"), event("a", occurred_at="2025-03-01T00:00:00Z"))
    assert (result.accepted, result.duplicates) == (1, 0)
    assert [(row["index"], row["event_id"]) for row in result.conflicts] == [(1, "a")]
    with transaction(database.app, tenant.tenant) as connection:
        kept = connection.execute(text("SELECT event_id, reason, usage_body FROM exceptions")).all()
    assert [tuple(row) for row in kept] == [("a", "conflicting_body", '{"input_tokens":1000,"output_tokens":100}')]


def test_repetitions_within_one_body_count_once(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    other = event("a", model="gpt-5.4")
    result = _send(database, tenant, book, event("a"), event("a"), other, event("a"), other)
    assert (result.accepted, result.duplicates, [row["index"] for row in result.conflicts]) == (1, 2, [2, 4])


def test_a_repetition_of_a_known_event_after_a_conflicting_one_is_still_a_duplicate(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(database, tenant, book, event("a"))
    result = _send(database, tenant, book, event("a", model="gpt-5.4"), event("a"))
    assert (result.accepted, result.duplicates, [row["index"] for row in result.conflicts]) == (0, 1, [0])


def test_good_rows_are_kept_when_others_are_bad(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ahead = (datetime.now(UTC) + timedelta(hours=25)).isoformat()
    result = _send(
        database,
        tenant,
        book,
        event("a"),
        event("b", usage={"cache_read_tokens": 900, "cache_write_5m_tokens": 101}),
        event("c", occurred_at=ahead),
        event("d", usage={"reasoning_tokens": 101}),
        event("e", colour="red"),
        event("f"),
    )
    assert result.accepted == 2
    assert [(row["index"], row["event_id"], row["field"], row["value"]) for row in result.rejected] == [
        (1, "b", "usage.input_tokens", "1000"),
        (2, "c", "occurred_at", datetime.fromisoformat(ahead).isoformat()),
        (3, "d", "usage.output_tokens", "100"),
        (4, "e", "colour", "red"),
    ]
    assert result.rejected[0]["reason"] == (
        "is less than the sum of its parts: cache_read_tokens 900 + cache_write_5m_tokens 101 = 1001"
    )


def test_an_event_above_9000_currency_units_is_refused(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    # o3 output costs 8 dollars a million: 1,125,000,001 tokens are 9,000.000008 dollars.
    result = _send(
        database,
        tenant,
        book,
        event("a", usage={"input_tokens": 0, "output_tokens": 1_125_000_000}),
        event("b", usage={"input_tokens": 0, "output_tokens": 1_125_000_001}),
    )
    assert result.accepted == 1
    assert [row["event_id"] for row in result.rejected] == ["b"]
    assert "9,000" in str(result.rejected[0]["reason"])


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"model": "o3-mini-imagined"}, "unpriced", "unknown_model"),
        ({"provider": "nobody"}, "unpriced", "unknown_seller"),
        ({"service_tier": "warp"}, "unpriced", "no_price_for_tier"),
        ({"usage": {"cache_read_tokens": None}}, "unpriced", "cache_read_unknown"),
        ({"deployment": "pool-a"}, "unpriced", "pool_unknown"),
    ],
)
def test_an_event_without_a_price_keeps_its_tokens_and_no_cost(
    database: Database, tenant: TenantContext, book: PriceBook, changes: dict[str, object], status: str, reason: str
) -> None:
    _send(database, tenant, book, event("a", **changes))
    with transaction(database.app, tenant.tenant) as connection:
        query = "SELECT charge_status, reason, list_cost, effective_cost, output_tokens FROM ledger"
        assert tuple(connection.execute(text(query)).one()) == (status, reason, None, None, 100)


def test_json_lines_and_a_single_object_are_bodies_too(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    assert ingest(database.app, tenant, book, lines([event("a"), event("b")]), ndjson=True).accepted == 2
    assert ingest(database.app, tenant, book, body([event("c")])[1:-1]).accepted == 1


def test_months_outside_the_partitions_are_kept_too(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    assert _send(database, tenant, book, event("old", occurred_at="2019-05-05T00:00:00Z")).accepted == 1
    with transaction(database.app, tenant.tenant) as connection:
        place = connection.execute(text("SELECT tableoid::regclass::text FROM usage_events")).scalar_one()
    assert place == "usage_events_default"


def test_rollups_equal_the_ledger_and_the_components(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    for day in range(1, 9):
        events = [
            event(
                f"{day}-{number}",
                occurred_at=f"2026-07-0{day}T{number:02}:07:00Z",
                user_id=f"u{number % 3}",
                usage={"cache_read_tokens": 7},
            )
            for number in range(20)
        ]
        _send(database, tenant, book, *events, event(f"{day}-x", model="unknown"))
    lines_with_difference = [line for line in check(database.app, tenant) if line.differs]
    assert lines_with_difference == []
