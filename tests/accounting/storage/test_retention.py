"""Retention and erasure: identity goes, every amount stays, and rollups still equal the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import zstandard
from sqlalchemy import text

from accounting.errors import InvalidInput, NotFound
from accounting.ledger import rollups
from accounting.ledger.revise import void
from accounting.pipeline import TenantContext, ingest, ingest_wire
from accounting.pricing.book import PriceBook
from accounting.revenue import plans
from accounting.storage.engine import transaction
from accounting.storage.retention import apply_retention, erase_user, set_retention
from accounting.storage.tables import metadata
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.usage.items import contexts
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

NOW = datetime(2026, 8, 15, 12, tzinfo=UTC)
IDENTITY = {
    "user_id": "canary-user",
    "account_id": "canary-account",
    "trace_id": "canary-trace",
    "task_id": "canary-task",
    "response_id": "canary-response",
    "tags": {"team": "canary-tag"},
}
GONE = ("user_id", "account_id", "trace_id", "task_id", "response_id", "tags")


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    return load_book(database.app, "")


@pytest.fixture(scope="module")
def names() -> Iterator[str]:
    return (f"retain{number}" for number in range(1000))


@pytest.fixture
def tenant(database: Database, names: Iterator[str]) -> TenantContext:
    name = next(names)
    create_tenant(database.owner, name, name)
    return context(database.app, name)


def _rows(database: Database, tenant: TenantContext, query: str) -> list[Any]:
    with transaction(database.app, tenant.tenant) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def _totals(database: Database, tenant: TenantContext) -> dict[str, list[Any]]:
    """Sums of events and costs by day and status, of the ledger and of both rollups."""
    sums = "sum(events), sum(list_cost), sum(effective_cost), sum(billed_cost)"
    return {
        "ledger": _rows(
            database,
            tenant,
            f"SELECT (charge_period_start AT TIME ZONE '{tenant.reporting_tz}')::date, charge_status, {sums} "
            "FROM ledger GROUP BY 1, 2 ORDER BY 1, 2",
        ),
        "user_day": _rows(
            database, tenant, f"SELECT day, charge_status, {sums} FROM rollup_user_day GROUP BY 1, 2 ORDER BY 1, 2"
        ),
        "15m": _rows(
            database, tenant, f"SELECT bucket, charge_status, {sums} FROM rollup_15m GROUP BY 1, 2 ORDER BY 1, 2"
        ),
    }


def _user_days(database: Database, tenant: TenantContext) -> list[Any]:
    key = ", ".join(rollups.KEY_USER_DAY)
    return _rows(database, tenant, f"SELECT {key}, {', '.join(rollups.MEASURES)} FROM rollup_user_day ORDER BY {key}")


def _assert_kept_is_rebuilt(database: Database, tenant: TenantContext) -> None:
    kept = _user_days(database, tenant)
    with transaction(database.app, tenant.tenant) as connection:
        rollups.rebuild(connection, tenant.tenant, tenant.reporting_tz)
    assert _user_days(database, tenant) == kept


def _send(database: Database, tenant: TenantContext, book: PriceBook, *events: dict[str, Any]) -> Any:
    return ingest(database.app, tenant, book, body(events), now=NOW)


OLD, YOUNG = "2026-07-01T12:00:00Z", "2026-08-01T12:00:00Z"


def test_identity_past_its_days_is_dropped_and_younger_identity_stays(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(
        database, tenant, book, event("old", occurred_at=OLD, **IDENTITY), event("young", occurred_at=YOUNG, **IDENTITY)
    )
    set_retention(database.owner, tenant.tenant, None, 30)
    result = apply_retention(database.owner, tenant.tenant, NOW)
    assert result.to_json() == {"raw_batches": 0, "days": 1, "events": 1, "charges": 0, "exceptions": 0}
    rows = _rows(database, tenant, f"SELECT event_id, {', '.join(GONE)} FROM usage_events ORDER BY event_id")
    assert rows == [
        ("old", None, None, None, None, None, None),
        (
            "young",
            "canary-user",
            "canary-account",
            "canary-trace",
            "canary-task",
            "canary-response",
            {"team": "canary-tag"},
        ),
    ]


def _contradict(database: Database, tenant: TenantContext, book: PriceBook, at: str) -> None:
    """Keeps an exception of the canary user's call at a moment."""
    chat = {"id": at, "object": "chat.completion", "model": "o3", "usage": {"prompt_tokens": -1}}
    named = {name: value for name, value in IDENTITY.items() if name != "response_id"}
    item = {"response": chat, "context": {"occurred_at": at, **named}}
    assert len(ingest_wire(database.app, tenant, book, "openai_chat", contexts([item], "openai_chat")).exceptions) == 1


def test_an_old_exception_loses_its_identity_and_a_young_one_keeps_it(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    for at in (OLD, YOUNG):
        _contradict(database, tenant, book, at)
    set_retention(database.owner, tenant.tenant, None, 30)
    assert apply_retention(database.owner, tenant.tenant, NOW).exceptions == 1
    old, young = [row[0] for row in _rows(database, tenant, "SELECT context FROM exceptions ORDER BY occurred_at")]
    assert old == {"occurred_at": OLD}
    assert young["user_id"] == "canary-user"
    assert apply_retention(database.owner, tenant.tenant, NOW).exceptions == 0


def test_every_total_is_the_same_before_and_after(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    events = [
        event(f"e{number}", occurred_at=OLD, user_id=f"user-{number % 3}", account_id=f"account-{number % 2}")
        for number in range(12)
    ]
    unpriced = event("unpriced", occurred_at=OLD, model="no-such-model", user_id="user-1")
    nobody = event("nobody", occurred_at=OLD)
    _send(database, tenant, book, *events, unpriced, nobody)
    void(database.app, tenant, "e3", "a test call")
    before = _totals(database, tenant)
    set_retention(database.owner, tenant.tenant, None, 30)
    result = apply_retention(database.owner, tenant.tenant, NOW)
    # 12 events, the void's own row and the unpriced one; `nobody` had no identity. The reversal is the one charge.
    assert (result.events, result.charges) == (14, 1)
    assert _totals(database, tenant) == before
    assert {(row[1], row[2]) for row in _user_days(database, tenant)} == {("", "")}
    _assert_kept_is_rebuilt(database, tenant)


def test_identity_goes_by_whole_reporting_days(database: Database, book: PriceBook, names: Iterator[str]) -> None:
    name = next(names)
    create_tenant(database.owner, name, name, "Asia/Kolkata")
    india = context(database.app, name)
    # 30 days before 15 August there is 16 July, which begins at 18:30 UTC of the 15th.
    _send(
        database,
        india,
        book,
        event("last-of-15", occurred_at="2026-07-15T18:29:59.999999Z", user_id="u"),
        event("first-of-16", occurred_at="2026-07-15T18:30:00Z", user_id="u"),
    )
    set_retention(database.owner, name, None, 30)
    apply_retention(database.owner, name, NOW)
    assert _rows(database, india, "SELECT event_id, user_id FROM usage_events ORDER BY event_id") == [
        ("first-of-16", "u"),
        ("last-of-15", None),
    ]
    _assert_kept_is_rebuilt(database, india)


def test_a_second_run_finds_nothing(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    _send(database, tenant, book, event("old", occurred_at=OLD, **IDENTITY))
    set_retention(database.owner, tenant.tenant, None, 30)
    apply_retention(database.owner, tenant.tenant, NOW)
    again = apply_retention(database.owner, tenant.tenant, NOW)
    assert again.to_json() == {"raw_batches": 0, "days": 0, "events": 0, "charges": 0, "exceptions": 0}


def test_without_limits_all_is_kept(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    _send(database, tenant, book, event("old", occurred_at=OLD, **IDENTITY))
    result = apply_retention(database.owner, tenant.tenant, NOW + timedelta(days=5000))
    assert result.to_json() == {"raw_batches": 0, "days": 0, "events": 0, "charges": 0, "exceptions": 0}
    assert _rows(database, tenant, "SELECT user_id FROM usage_events") == [("canary-user",)]


def test_raw_usage_past_its_days_is_deleted_and_events_stay(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(database, tenant, book, event("a", user_id="u"))
    set_retention(database.owner, tenant.tenant, 7, None)
    today = datetime.now(UTC)
    assert apply_retention(database.owner, tenant.tenant, today + timedelta(days=6)).raw_batches == 0
    assert apply_retention(database.owner, tenant.tenant, today + timedelta(days=8)).raw_batches == 1
    assert _rows(database, tenant, "SELECT count(*) FROM raw_usage") == [(0,)]
    assert _rows(database, tenant, "SELECT event_id, user_id FROM usage_events") == [("a", "u")]


def test_a_forgotten_event_sent_again_is_not_counted_twice(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    sent = event("old", occurred_at=OLD, **IDENTITY)
    _send(database, tenant, book, sent)
    before = _totals(database, tenant)
    set_retention(database.owner, tenant.tenant, None, 30)
    apply_retention(database.owner, tenant.tenant, NOW)
    again = _send(database, tenant, book, sent)
    assert (again.accepted, again.duplicates, len(again.conflicts)) == (0, 0, 1)
    assert _totals(database, tenant) == before


def test_what_is_kept_as_evidence_holds_no_identity(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    _send(database, tenant, book, event("a", **IDENTITY))
    _send(database, tenant, book, event("a", model="gpt-5.4", **IDENTITY))
    raw = _rows(database, tenant, "SELECT body FROM raw_usage")
    bodies = [zstandard.decompress(row[0]).decode() for row in raw]
    kept = [json.dumps(row) for row in _rows(database, tenant, "SELECT usage_body, detail, reason FROM exceptions")]
    assert len(bodies) == 1
    assert len(kept) == 1
    assert "canary" not in " ".join(bodies + kept)


@pytest.mark.parametrize("values", [(0, None), (None, 0), (None, -1)])
def test_a_limit_below_one_day_is_refused(
    database: Database, tenant: TenantContext, values: tuple[int | None, int | None]
) -> None:
    with pytest.raises(InvalidInput, match="_days"):
        set_retention(database.owner, tenant.tenant, *values)


def test_retention_of_an_unknown_tenant_is_not_found(database: Database) -> None:
    with pytest.raises(NotFound, match="nobody"):
        set_retention(database.owner, "nobody", 1, 1)
    with pytest.raises(NotFound, match="nobody"):
        apply_retention(database.owner, "nobody", NOW)


def test_an_erased_user_is_in_no_table_and_amounts_stay(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(
        database, tenant, book, *(event(f"e{number}", **IDENTITY) for number in range(3)), event("other", user_id="b")
    )
    void(database.app, tenant, "e1", "a test call")
    plans.put_plan(database.app, tenant, "pro", "Pro")
    sold = plans.make_subscription(
        tenant, "s1", plan="pro", user_id="canary-user", monthly_price="20.00", starts_on="2026-07-01"
    )
    plans.put_subscription(database.app, tenant, sold)
    _contradict(database, tenant, book, OLD)
    before = _totals(database, tenant)
    result = erase_user(database.owner, tenant.tenant, "canary-user")
    tombstone = str(result.pop("tombstone"))
    assert tombstone.startswith("erased-")
    assert result == {
        "event_ids": 3, "usage_events": 4, "charges": 1, "rollup_user_day": 1, "subscriptions": 1, "exceptions": 1,
        "revenue_lines": 0, "revenue_customers": 0,
    }  # fmt: skip
    for table in metadata.tables.values():
        found = _rows(database, tenant, f"SELECT t::text FROM {table.name} t")
        for word in ("canary-user", "canary-trace", "canary-task", "canary-response", "canary-tag"):
            assert word not in str(found), (table.name, word)
    assert _rows(database, tenant, "SELECT DISTINCT user_id FROM usage_events ORDER BY 1") == [("b",), (tombstone,)]
    assert _rows(database, tenant, "SELECT user_id FROM subscriptions") == [(tombstone,)]
    assert _totals(database, tenant) == before
    _assert_kept_is_rebuilt(database, tenant)


def test_erasure_leaves_no_hash_that_a_guess_could_be_tried_on(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    _send(database, tenant, book, event("a", user_id="canary-user"), event("b", user_id="other"))
    query = "SELECT event_id, body_hash FROM usage_events UNION ALL SELECT event_id, body_hash FROM event_ids"
    before = set(_rows(database, tenant, query))
    erase_user(database.owner, tenant.tenant, "canary-user")
    after = set(_rows(database, tenant, query))
    assert {row[0] for row in before & after} == {"b"}


def test_the_same_user_id_of_another_tenant_is_untouched(
    database: Database, tenant: TenantContext, book: PriceBook, names: Iterator[str]
) -> None:
    name = next(names)
    create_tenant(database.owner, name, name)
    other = context(database.app, name)
    _send(database, tenant, book, event("a", user_id="shared"))
    _send(database, other, book, event("a", user_id="shared"))
    erase_user(database.owner, tenant.tenant, "shared")
    assert _rows(database, other, "SELECT user_id FROM usage_events") == [("shared",)]
    assert [row[1] for row in _user_days(database, other)] == ["shared"]


def test_two_erasures_of_one_user_have_different_tombstones(database: Database, tenant: TenantContext) -> None:
    first = erase_user(database.owner, tenant.tenant, "ann")["tombstone"]
    assert erase_user(database.owner, tenant.tenant, "ann")["tombstone"] != first


def test_erasure_needs_a_user_and_a_tenant(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(InvalidInput, match="user_id"):
        erase_user(database.owner, tenant.tenant, "")
    with pytest.raises(NotFound, match="nobody"):
        erase_user(database.owner, "nobody", "u")


def test_events_that_come_in_meanwhile_stay_consistent(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    set_retention(database.owner, tenant.tenant, None, 30)

    def write(writer: int) -> None:
        for batch in range(20):
            sent = [
                event(f"{writer}-{batch}-{number}", occurred_at=OLD, user_id=f"u{number % 7}", trace_id="t")
                for number in range(30)
            ]
            _send(database, tenant, book, *sent)

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, number) for number in range(2)]
        while not all(writer.done() for writer in writers):
            apply_retention(database.owner, tenant.tenant, NOW)
            erase_user(database.owner, tenant.tenant, "u1")
        for writer in writers:
            writer.result()
    assert _rows(database, tenant, "SELECT count(*) FROM usage_events") == [(1200,)]
    _assert_kept_is_rebuilt(database, tenant)
