"""What other prices would have made of a workload, by feature and plan. Model m: 2 a million in, 8 out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from accounting.ledger.impact import SAME_TOKENS, impact
from accounting.ledger.impact_books import asked_book
from accounting.pipeline import ingest
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.tariff import Alias, Tariff
from accounting.revenue.monthly import Subscription
from accounting.revenue.plans import put_plan, write_subscriptions
from accounting.storage.contracts import record
from accounting.storage.engine import transaction
from accounting.storage.tariffs import Layers, load_layers, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
AHEAD = datetime.now(UTC) + timedelta(days=30)
NOW = Tariff("acme", "m", {"uncached_input": 2 * 10**9, "output": 8 * 10**9}, effective_until=AHEAD, source="leaflet")
THEN = replace(NOW, prices={"uncached_input": 10**9, "output": 8 * 10**9}, effective_from=AHEAD, effective_until=None)
LONG = replace(THEN, prices={"uncached_input": 3 * 10**9, "output": 8 * 10**9}, above_input_tokens=5_000)
BIG = Tariff("acme", "big", {"uncached_input": 20 * 10**9, "output": 80 * 10**9}, source="leaflet")
NAMES = [Alias("acme", "m", "m", "leaflet"), Alias("acme", "big", "big", "leaflet")]


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    """ann pays for `pro`, bob for nothing; two chat calls of 1,000 in and 100 out, one long search call, one big one."""
    with database.owner.begin() as connection:
        write_tariffs(connection, [NOW, THEN, LONG, BIG], NAMES)
    create_tenant(database.owner, "acme", "Acme")
    found = context(database.app, "acme")
    put_plan(database.app, found, "pro")
    pro = Subscription("s1", "pro", "ann", None, 20 * 10**15, "USD", date(2026, 7, 1), None)
    with transaction(database.app, "acme") as connection:
        write_subscriptions(connection, found, [pro])
    model = {"provider": "acme", "model": "m"}
    calls = [
        event("a", **model, user_id="ann", feature="chat"),
        event("b", **model, user_id="bob", feature="chat"),
        event("c", **model, user_id="bob", feature="search", usage={"input_tokens": 10_000}),
        event("d", provider="acme", model="big", user_id="ann", feature="chat"),
    ]
    ingest(database.app, found, load_layers(database.app, "acme"), body(calls))
    return found


@pytest.fixture(scope="module")
def layers(database: Database, tenant: TenantContext) -> Layers:
    return load_layers(database.app, tenant.tenant)


def _shown(found: dict[str, object]) -> list[tuple[object, ...]]:
    names = ("feature", "plan", "events", "cost_now", "cost_then")
    return sorted(tuple(line[name] for name in names) for line in found["lines"])  # type: ignore[attr-defined]


def test_announced_rows_are_tried_on_the_workload(database: Database, tenant: TenantContext) -> None:
    """1,000 in at 1 instead of 2, 100 out at 8; 10,000 in are beyond the new threshold and cost 3 each."""
    found = impact(database.app, tenant, asked_book(database.app, tenant), JULY, AUGUST).to_json()
    assert _shown(found) == [
        ("chat", "none", 1, "0.0028", "0.0018"),
        ("chat", "pro", 1, "0.0028", "0.0018"),
        ("search", "none", 1, "0.0208", "0.0308"),
    ]
    [total] = found["totals"]
    assert (total["cost_now"], total["cost_then"], total["difference"]) == ("0.0264", "0.0344", "0.008")
    assert total["difference_percent"] == "30.303"
    assert (found["events_read"], found["events_affected"], found["warnings"]) == (4, 3, [])


def test_rows_of_a_file_take_the_place_of_those_in_force(database: Database, tenant: TenantContext) -> None:
    cheap = Tariff("acme", "big", {"uncached_input": 10**9, "output": 0}, source="file")
    book = asked_book(database.app, tenant, rows=[cheap])
    found = impact(database.app, tenant, book, JULY, AUGUST).to_json()
    assert _shown(found) == [("chat", "pro", 1, "0.028", "0.001")]


def test_another_model_is_tried_at_the_same_tokens_and_says_so(
    database: Database, tenant: TenantContext, layers: Layers
) -> None:
    found = impact(database.app, tenant, layers, JULY, AUGUST, models={"big": "m"}).to_json()
    assert _shown(found) == [("chat", "pro", 1, "0.028", "0.0028")]
    assert found["warnings"] == [SAME_TOKENS]


def test_a_model_without_a_price_is_counted_not_guessed(
    database: Database, tenant: TenantContext, layers: Layers
) -> None:
    found = impact(database.app, tenant, layers, JULY, AUGUST, models={"big": "unheard-of"}).to_json()
    assert (found["lines"], found["events_affected"], found["events_unpriced"]) == ([], 1, 1)


def test_rules_of_a_contract_hold_for_announced_rows_too(database: Database, tenant: TenantContext) -> None:
    create_tenant(database.owner, "signed", "Signed")
    signed = context(database.app, "signed")
    rule = PriceRule("half", "discount", Scope(), "0.5")
    record(database.app, signed, Contract("k", "signed", "acme", "USD", JULY, rules=(rule,)), "test")
    ingest(database.app, signed, load_layers(database.app, "signed"), body([event("a", provider="acme", model="m")]))
    found = impact(database.app, signed, asked_book(database.app, signed), JULY, AUGUST).to_json()
    assert _shown(found) == [(None, "none", 1, "0.0014", "0.0009")]
