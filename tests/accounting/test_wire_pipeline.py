"""Wire bodies in the ledger: kept evidence, exceptions, replay, observers, reported costs and re-normalisation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from accounting.ledger.check import check
from accounting.ledger.exceptions import dismiss, listed
from accounting.ledger.read import charge_of
from accounting.ledger.renormalise import renormalise
from accounting.ledger.replay import replay
from accounting.pipeline import IngestResult, TenantContext, ingest_wire
from accounting.pricing.book import PriceBook
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book
from accounting.storage.tenants import context, create_tenant
from accounting.usage.formats import openai_chat
from accounting.usage.read import contexts
from accounting.usage.wire import Call
from tests.conftest import Database
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage
START, END = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    return context(database.app, name)


@pytest.fixture
def exact(database: Database, tenant: TenantContext) -> Iterator[None]:
    """Whatever a test did, the ledger checks out."""
    yield
    assert [line.describe() for line in check(database.app, tenant) if line.differs] == []


def chat(
    response_id: str = "chatcmpl-1", prompt: int = 1_000, cached: int = 400, total: int | None = None
) -> dict[str, Any]:
    """A Chat Completions body of o3; prices: 2 dollars a million in, 0.5 cached, 8 out."""
    return {
        "id": response_id,
        "object": "chat.completion",
        "created": 1_782_900_000,  # 2026-07-01T10:00:00Z
        "model": "o3",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "canary answer"}}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": 100,
            "total_tokens": prompt + 100 if total is None else total,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def litellm(response_id: str, user: str) -> dict[str, Any]:
    """The gateway's log of the same call, its user known."""
    return {
        "id": response_id,
        "litellm_call_id": f"call-{response_id}",
        "call_type": "acompletion",
        "stream": False,
        "status": "success",
        "custom_llm_provider": "openai",
        "model": "o3",
        "prompt_tokens": 1_000,
        "completion_tokens": 100,
        "total_tokens": 1_100,
        "startTime": 1_782_900_000,
        "endTime": 1_782_900_002,
        "cache_hit": False,
        "response_cost": 0.0022,
        "end_user": user,
        "metadata": {
            "usage_object": {
                "prompt_tokens": 1_000,
                "completion_tokens": 100,
                "total_tokens": 1_100,
                "prompt_tokens_details": {"cached_tokens": 400},
            }
        },
    }


def _send(database: Database, tenant: TenantContext, book: PriceBook, name: str, *items: Any) -> IngestResult:
    return ingest_wire(database.app, tenant, book, name, contexts(list(items), name))


def _rows(database: Database, tenant: TenantContext, query: str) -> list[tuple[Any, ...]]:
    with transaction(database.app, tenant.tenant) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


@pytest.mark.usefixtures("exact")
def test_a_wire_body_is_priced_like_a_native_event(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    result = _send(database, tenant, book, "openai_chat", {"response": chat(), "context": {"user_id": "ann"}})
    assert result.wire_json() == {
        "accepted": 1, "duplicates": 0, "conflicts": [], "rejected": [], "exceptions": [], "aggregates": 0,
    }  # fmt: skip
    query = "SELECT subject_id, user_id, effective_cost FROM ledger"
    # 600 x 2 + 400 x 0.5 + 100 x 8 = 2,200 millionths of a dollar
    assert _rows(database, tenant, query) == [("openai:chatcmpl-1", "ann", Decimal("0.002200000000000000"))]


@pytest.mark.usefixtures("exact")
def test_a_contradiction_is_kept_and_booked_by_a_replay_exactly_once(
    database: Database, tenant: TenantContext, book: PriceBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = _send(database, tenant, book, "openai_chat", chat("a"), chat("b", total=1_099), chat("c", cached=1_001))
    assert (result.accepted, [row["index"] for row in result.exceptions]) == (1, [1, 2])
    again = _send(database, tenant, book, "openai_chat", chat("a"), chat("b", total=1_099), chat("c", cached=1_001))
    assert (again.accepted, again.duplicates, len(again.exceptions)) == (0, 1, 2)
    kept = listed(database.app, tenant)["exceptions"]
    assert [(row["kind"], row["event_id"]) for row in kept] == [
        ("contradiction", "openai:b"),
        ("contradiction", "openai:c"),
    ]
    assert all("canary" not in row["usage_body"] for row in kept)
    assert replay(database.app, tenant, book)["booked"] == 0

    # The mended rule: this sender's total leaves one token out.
    honest = openai_chat.read

    def mended(body: Any, known: Any) -> list[Call]:
        usage = body["usage"] | {"total_tokens": body["usage"]["prompt_tokens"] + body["usage"]["completion_tokens"]}
        return honest(body | {"usage": usage}, known)

    monkeypatch.setattr(openai_chat, "read", mended)
    answer = replay(database.app, tenant, book)
    assert (answer["replayed"], answer["booked"], [row["event_id"] for row in answer["still_open"]]) == (
        2,
        1,
        ["openai:c"],
    )
    assert replay(database.app, tenant, book)["replayed"] == 1
    query = "SELECT subject_id FROM ledger ORDER BY 1"
    assert _rows(database, tenant, query) == [("openai:a",), ("openai:b",)]
    remaining = listed(database.app, tenant)["exceptions"]
    assert dismiss(database.app, tenant, remaining[0]["exception_id"])["resolution"] == "dismissed"
    assert listed(database.app, tenant)["exceptions"] == []


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("gateway_first", [True, False])
def test_a_call_seen_by_gateway_and_sdk_counts_once_with_the_gateways_user(
    database: Database, tenant: TenantContext, book: PriceBook, gateway_first: bool
) -> None:
    seen = [("litellm", litellm("chatcmpl-1", "ann")), ("openai_chat", chat())]
    results = [_send(database, tenant, book, name, body) for name, body in (seen if gateway_first else seen[::-1])]
    assert [(one.accepted, one.duplicates, one.conflicts) for one in results] == [(1, 0, []), (0, 1, [])]
    again = [_send(database, tenant, book, name, body) for name, body in seen]
    assert [(one.accepted, one.duplicates, one.conflicts) for one in again] == [(0, 1, []), (0, 1, [])]
    query = "SELECT sum(events), sum(effective_cost), max(user_id) FILTER (WHERE basis <> 'reversal') FROM ledger"
    assert _rows(database, tenant, query) == [(1, Decimal("0.0022"), "ann")]
    query = "SELECT user_id, sum(events) FROM rollup_user_day GROUP BY 1 HAVING sum(events) <> 0"
    assert _rows(database, tenant, query) == [("ann", 1)]


@pytest.mark.usefixtures("exact")
def test_a_reported_cost_is_kept_beside_and_booked_only_by_rule(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    body = litellm("chatcmpl-1", "ann") | {"response_cost": 0.00225}
    _send(database, tenant, book, "litellm", body)
    charge = charge_of(database.app, tenant, "openai:chatcmpl-1")
    assert (charge["basis"], charge["billed_cost"]) == ("price_list", "0.0022")
    assert (charge["reported_cost_usd"], charge["variance_usd"]) == ("0.00225", "0.00005")
    ruled = TenantContext(tenant.tenant, "UTC", "USD", frozenset({("openai", "")}))
    _send(database, ruled, book, "litellm", body | {"id": "chatcmpl-2"})
    charge = charge_of(database.app, tenant, "openai:chatcmpl-2")
    assert (charge["basis"], charge["list_cost"], charge["billed_cost"]) == ("reported", "0.0022", "0.00225")
    _send(database, ruled, book, "litellm", body | {"id": "chatcmpl-3", "model": "nobody-lists-this"})
    charge = charge_of(database.app, tenant, "openai:chatcmpl-3")
    assert (charge["basis"], charge["list_cost"], charge["billed_cost"], charge["components"]) == (
        "reported",
        "0.00225",
        "0.00225",
        [],
    )


def test_a_reported_cost_above_the_limit_is_refused_alone(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ruled = TenantContext(tenant.tenant, "UTC", "USD", frozenset({("openai", "")}))
    bodies = [
        litellm(name, "ann") | {"response_cost": cost} for name, cost in (("a", 12_000), ("b", 9_000.01), ("c", 1))
    ]
    result = _send(database, ruled, book, "litellm", *bodies)
    assert result.accepted == 1
    assert [(row["event_id"], row["field"], row["value"]) for row in result.rejected] == [
        ("openai:a", "reported_cost_usd", "12000"),
        ("openai:b", "reported_cost_usd", "9000.01"),
    ]


@pytest.mark.usefixtures("exact")
def test_a_changed_rule_shows_its_changes_first_and_writes_revisions_on_demand(
    database: Database, tenant: TenantContext, book: PriceBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _send(
        database,
        tenant,
        book,
        "openai_chat",
        {"response": chat("a"), "context": {"user_id": "ann"}},
        chat("b", cached=0),
    )
    assert renormalise(database.app, tenant, book, START, END) == {"read": 2, "changes": [], "applied": 0}
    honest = openai_chat.read

    def changed(body: Any, known: Any) -> list[Call]:
        return honest(body | {"usage": body["usage"] | {"prompt_tokens_details": {}}}, known)

    monkeypatch.setattr(openai_chat, "read", changed)
    dry = renormalise(database.app, tenant, book, START, END)
    assert dry == {
        "read": 2,
        "changes": [
            {
                "event_id": "openai:a",
                "fields": {
                    "uncached_input_tokens": {"old": 600, "new": 1_000},
                    "cache_read_tokens": {"old": 400, "new": 0},
                },
                "old_cost": "0.0022",
                "new_cost": "0.0028",  # 1,000 x 2 + 100 x 8 millionths
                "problem": None,
            }
        ],
        "applied": 0,
    }
    assert renormalise(database.app, tenant, book, START, END, apply=True)["applied"] == 1
    assert renormalise(database.app, tenant, book, START, END, apply=True)["changes"] == []
    query = "SELECT user_id, sum(events), sum(effective_cost) FROM ledger GROUP BY 1 ORDER BY 1"
    assert _rows(database, tenant, query) == [("ann", 1, Decimal("0.0028")), (None, 1, Decimal("0.0028"))]


def test_a_body_without_usage_is_counted_and_unpriced(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    body = chat()
    del body["usage"]
    assert _send(database, tenant, book, "openai_chat", body).accepted == 1
    query = "SELECT charge_status, reason, usage_known, list_cost_e15 FROM usage_events"
    assert _rows(database, tenant, query) == [("unpriced", "usage_missing", False, None)]
