"""Does the check see a difference of one unit in any of its four figures? Model o3: 2 a million in, 8 out."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from sqlalchemy import text

from accounting.errors import InvalidInput
from accounting.ledger.check import CheckLine, check, differences
from accounting.ledger.revise import void
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.genai_prices_source import load_list_tariffs
from accounting.pricing.tariff import Alias, Tariff, fallbacks_for
from accounting.storage.engine import transaction
from accounting.storage.tariffs import load_book, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from accounting.usage.classes import PRICED_CLASSES, UNIT_CLASSES
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage


@pytest.fixture(scope="module")
def book(database: Database) -> PriceBook:
    create_tenant(database.owner, "books", "Books")
    return load_book(database.app, "books")


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest, book: PriceBook) -> TenantContext:
    """A tenant with a priced, an unpriced, a pending and a void event in July, and a priced one in August."""
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    found = replace(context(database.app, name), pools=frozenset({"pool-1"}))
    events = [
        event("priced", user_id="u1"),
        event("unpriced", model="nobody-knows"),
        event("pending", deployment="pool-1"),
        event("void"),
        event("august", occurred_at="2026-08-01T00:00:00Z"),
    ]
    ingest(database.app, found, book, body(events))
    void(database.app, found, "void", "test traffic")
    return found


def _corrupt(database: Database, tenant: TenantContext, statement: str) -> None:
    """Changes stored rows as only a superuser could."""
    with transaction(database.owner, tenant.tenant) as connection:
        connection.execute(text(statement))


def _named(lines: list[CheckLine]) -> list[tuple[str, str]]:
    return [(f"{line.booking_period:%Y-%m}", line.measure) for line in differences(lines)]


def test_a_sound_ledger_has_no_difference_in_any_month(database: Database, tenant: TenantContext) -> None:
    lines = check(database.app, tenant)
    assert differences(lines) == []
    figures = {(line.booking_period, line.measure): line.components for line in lines}
    assert len(lines) == 2 * 9
    assert figures[date(2026, 7, 1), "events"] == 3
    assert figures[date(2026, 7, 1), "output_tokens"] == 300
    assert figures[date(2026, 7, 1), "effective_cost"] == Decimal("0.0028")
    assert figures[date(2026, 8, 1), "list_cost"] == Decimal("0.0028")


def test_one_month_is_checked_alone(database: Database, tenant: TenantContext) -> None:
    assert {line.booking_period for line in check(database.app, tenant, date(2026, 8, 1))} == {date(2026, 8, 1)}
    with pytest.raises(InvalidInput, match="month='2026-08-02'"):
        check(database.app, tenant, date(2026, 8, 2))


def test_an_empty_ledger_has_no_lines(database: Database) -> None:
    create_tenant(database.owner, "empty", "Empty")
    assert check(database.app, context(database.app, "empty")) == []


def test_every_class_is_multiplied_in_the_same_way(database: Database) -> None:
    create_tenant(database.owner, "classes", "Classes")
    found = context(database.app, "classes")
    prices = {name: 10**9 * (1_000 if name in UNIT_CLASSES else 1) * at for at, name in enumerate(PRICED_CLASSES, 1)}
    own = Tariff("acme", "every", prices, source="test", source_version="1")
    bare = Tariff("acme", "bare", {"uncached_input": 10**9, "output": 2 * 10**9}, source="test", source_version="1")
    bare = replace(bare, fallbacks=fallbacks_for(bare.prices))
    _, aliases, _ = load_list_tariffs()
    names = [Alias("acme", "every", "every", "test"), Alias("acme", "bare", "bare", "test")]
    with database.owner.begin() as connection:
        write_tariffs(connection, [own, bare], [*aliases, *names])
    tokens = {
        "input_tokens": 1_000,
        "cache_read_tokens": 300,
        "cache_write_5m_tokens": 10,
        "cache_write_1h_tokens": 20,
        "cache_write_30m_tokens": 30,
        "cache_write_12h_tokens": 40,
        "cache_write_tokens": 50,
        "output_tokens": 200,
        "reasoning_tokens": 60,
        "audio_input_tokens": 70,
        "audio_cache_read_tokens": 80,
        "audio_output_tokens": 15,
        "image_input_tokens": 90,
        "image_output_tokens": 25,
        "video_input_tokens": 100,
    }
    every = event(
        "every", provider="acme", model="every", usage=tokens | {"web_search_requests": 2, "web_fetch_requests": 3}
    )
    answer = ingest(
        database.app,
        found,
        load_book(database.app, "classes"),
        body([every, event("bare", provider="acme", model="bare", usage=tokens)]),
    )
    assert answer.accepted == 2
    lines = {line.measure: line for line in check(database.app, found)}
    assert differences(lines.values()) == []
    # Millionths at prices 1 to 18 in the order of PRICED_CLASSES: input 550 - 70 - 90 - 100 = 290 x 1, cached 300 - 80 = 220 x 2,
    # writes 10 x 3 + 20 x 4 + 30 x 5 + 40 x 6 + 50 x 7 = 850, output 200 - 15 - 25 - 60 = 100 x 8, reasoning 60 x 9, audio in
    # 70 x 10, cached 80 x 11, out 15 x 12, image in 90 x 13, out 25 x 14, video 100 x 15: 290 + 440 + 850 + 800 + 540 + 700 + 880 +
    # 180 + 1,170 + 350 + 1,500 = 7,700. Units at 16, 17 and 18 a thousand: 2 x 0.016 + 3 x 0.017 + 1 x 0.018 = 0.101.
    # Bare: 1,000 in at 1 and 200 out at 2, whatever they are: 1,400 millionths.
    assert lines["list_cost"].components == Decimal("0.0077") + Decimal("0.101") + Decimal("0.0014")


def test_a_changed_quarter_hour_is_seen(database: Database, tenant: TenantContext) -> None:
    _corrupt(
        database, tenant, "UPDATE rollup_15m SET billed_cost = billed_cost + 1e-15 WHERE booking_period = '2026-08-01'"
    )
    lines = check(database.app, tenant)
    assert _named(lines) == [("2026-08", "billed_cost")]
    assert differences(lines)[0].describe() == (
        "2026-08 billed_cost USD: ledger 0.002800000000000, rollup_15m 0.002800000000001000 (+0.000000000000001000)"
    )


def test_a_lost_user_day_is_seen(database: Database, tenant: TenantContext) -> None:
    _corrupt(database, tenant, "DELETE FROM rollup_user_day WHERE user_id = 'u1'")
    assert {measure for _, measure in _named(check(database.app, tenant))} == {
        "events",
        "uncached_input_tokens",
        "output_tokens",
        "list_cost",
        "contracted_cost",
        "effective_cost",
        "billed_cost",
    }


def test_a_changed_cost_of_an_event_is_seen(database: Database, tenant: TenantContext) -> None:
    _corrupt(database, tenant, "UPDATE usage_events SET list_cost_e15 = list_cost_e15 + 1 WHERE event_id = 'august'")
    (line,) = differences(check(database.app, tenant))
    assert line.measure == "list_cost"
    assert line.ledger - line.components == Decimal("1e-15")  # type: ignore[operator]
    assert line.rollup_15m == line.rollup_user_day == line.components


def test_a_quantity_without_a_stored_price_is_unknown_and_differs(database: Database, tenant: TenantContext) -> None:
    _corrupt(database, tenant, "UPDATE usage_events SET sku_price_id = 1 WHERE event_id = 'august'")
    lines = differences(check(database.app, tenant))
    assert {(line.measure, line.components) for line in lines} == {
        (name, None) for name in ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
    }
    assert "components unknown" in lines[0].describe()
