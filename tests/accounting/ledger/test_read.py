"""The charge of one event as it was booked, with its components."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from accounting.errors import NotFound
from accounting.ledger.first_charge import rate_input
from accounting.ledger.read import charge_of
from accounting.ledger.revise import revise, void
from accounting.pipeline import TenantContext, ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.charge import charge
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.rate import rate
from accounting.storage.tariffs import load_book, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.usage.columns import prepare
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

EVENTS = [
    event("plain"),
    event("cached", usage={"cache_read_tokens": 400}),
    event("searching", usage={"web_search_requests": 3}),
    event(
        "claude",
        provider="anthropic",
        model="claude-sonnet-4-5",
        usage={
            "input_tokens": 250_000,
            "cache_write_5m_tokens": 10,
            "cache_write_1h_tokens": 7,
            "web_fetch_requests": 2,
        },
    ),
    event(
        "multimodal",
        provider="google",
        model="gemini-2.5-flash",
        usage={"audio_input_tokens": 100, "image_input_tokens": 50, "reasoning_tokens": 30},
    ),
    event("tiered", service_tier="priority"),
    event("unpriced", model="no-such-model"),
    event("unknown-cache", usage={"cache_read_tokens": None}),
    event("hosted", provider="self", model="llama", deployment="pool-1"),
]


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    return load_book(database.app, "")


@pytest.fixture(scope="module")
def tenant(database: Database, book: PriceBook) -> TenantContext:
    create_tenant(database.owner, "acme", "Acme")
    known = context(database.app, "acme")
    knowing = replace(known, pools=frozenset({"pool-1"}))
    assert ingest(database.app, knowing, book, body(EVENTS)).accepted == len(EVENTS)
    return known


@pytest.mark.parametrize("position", range(len(EVENTS)))
def test_what_is_read_is_what_rating_says(
    database: Database, tenant: TenantContext, book: PriceBook, position: int
) -> None:
    sent = EVENTS[position]
    inp = rate_input(prepare(body([sent]), ndjson=False, now=datetime.now(UTC)).batch)
    rated = charge(book, inp, rate(book, inp), 0, sent["event_id"], sent.get("deployment"))
    assert charge_of(database.app, tenant, sent["event_id"]) == rated


def test_the_charge_of_a_cached_call_to_the_last_digit(database: Database, tenant: TenantContext) -> None:
    # o3 since 2025-06-10: 2 dollars a million in, 0.5 cached, 8 out. 600 x 2 + 400 x 0.5 + 100 x 8 = 2,200 millionths.
    found = charge_of(database.app, tenant, "cached")
    assert found.pop("sku_price_id")
    assert found == {
        "event_id": "cached",
        "status": "priced",
        "billing_currency": "USD",
        "list_cost": "0.0022",
        "contracted_cost": "0.0022",
        "effective_cost": "0.0022",
        "billed_cost": "0.0022",
        "components": [
            {
                "token_class": "uncached_input",
                "quantity": 600,
                "list_unit_price": "2",
                "effective_unit_price": "2",
                "effective_cost": "0.0012",
            },
            {
                "token_class": "cache_read",
                "quantity": 400,
                "list_unit_price": "0.5",
                "effective_unit_price": "0.5",
                "effective_cost": "0.0002",
            },
            {
                "token_class": "output",
                "quantity": 100,
                "list_unit_price": "8",
                "effective_unit_price": "8",
                "effective_cost": "0.0008",
            },
        ],
        "effective_from": "2025-06-10T00:00:00Z",
        "basis": "price_list",
    }


def test_a_charge_is_explained_by_its_own_price_row_also_when_the_source_has_dropped_it(
    database: Database, tenant: TenantContext
) -> None:
    before = charge_of(database.app, tenant, "plain")
    tariffs, aliases, _ = load_list_tariffs()
    left = [row for row in tariffs if row.sku_price_text != before["sku_price_id"]]
    assert len(left) == len(tariffs) - 1
    with database.owner.begin() as connection:
        write_tariffs(connection, left, aliases)
    assert charge_of(database.app, tenant, "plain") == before


def test_the_newest_revision_is_the_one_that_is_read(
    database: Database, tenant: TenantContext, book: PriceBook
) -> None:
    ingest(database.app, tenant, book, body([event("revised")]))
    other = event("revised", occurred_at="2026-03-01T00:00:00Z", usage={"input_tokens": 500})
    revise(database.app, tenant, book, "revised", body([other]))
    assert charge_of(database.app, tenant, "revised")["effective_cost"] == "0.0018"


def test_a_void_event_has_no_cost_and_says_why(database: Database, tenant: TenantContext, book: PriceBook) -> None:
    ingest(database.app, tenant, book, body([event("gone")]))
    void(database.app, tenant, "gone", "a test call")
    found = charge_of(database.app, tenant, "gone")
    assert (found["status"], found["effective_cost"], found["components"]) == ("void", None, [])
    assert found["reason"] == "a test call"


def test_an_unknown_event_is_not_found(database: Database, tenant: TenantContext) -> None:
    with pytest.raises(NotFound, match="nothing-here"):
        charge_of(database.app, tenant, "nothing-here")
