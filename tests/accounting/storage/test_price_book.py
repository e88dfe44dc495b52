"""Is what was known at a moment kept: prices, contracts, names, decisions, and who changed them?"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from accounting.errors import Conflict, InvalidInput, NotFound
from accounting.ledger.layers import rate_books
from accounting.ledger.reprice import reprice
from accounting.pipeline import ingest
from accounting.pricing.contract import Contract, PriceRule, Scope
from accounting.pricing.reasons import REASONS
from accounting.pricing.sources import read
from accounting.pricing.tariff import Tariff
from accounting.reports.unpriced import unpriced
from accounting.storage import audit, contracts
from accounting.storage.engine import read_only
from accounting.storage.price_decisions import decide, proposals
from accounting.storage.price_entry import add_rows, assign, enter_rows, withdraw_row
from accounting.storage.price_imports import import_statement
from accounting.storage.price_views import history, prices
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context, create_key, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.pricing.rating import batch
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

JULY, AUGUST, SEPTEMBER = (datetime(2026, month, 1, tzinfo=UTC) for month in (7, 8, 9))
ROW = Tariff(
    seller="acme",
    model="acme-chat",
    prices={"uncached_input": 2_000_000_000, "output": 6_000_000_000},
    effective_from=JULY,
)
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    """A tenant of this test alone."""
    name = "t" + hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    create_tenant(database.owner, name, name)
    return context(database.app, name)


def _cost(
    database: Database, tenant: TenantContext, known_at: datetime | None = None, seller: str = "acme"
) -> tuple[int, int, str]:
    """List and contracted cost of 1,000 in and 100 out of acme-chat at noon of July 1, in 10^-15, and why there is none."""
    sent = {"provider": seller, "model": "acme-chat", "at": NOON, "uncached_input_tokens": 1000, "output_tokens": 100}
    rated = rate_books(load_layers(database.app, tenant.tenant, known_at), batch([sent]))
    return int(rated.list_cost[0]), int(rated.contracted_cost[0]), REASONS[int(rated.reason[0])]


def _table(**per_million: float) -> bytes:
    entries = {
        model: {"litellm_provider": "rare", "input_cost_per_token": price / 1e6, "output_cost_per_token": 1e-05}
        for model, price in per_million.items()
    }
    return json.dumps(entries).encode()


def _import(database: Database, content: bytes, day: str, source: str = "litellm") -> dict[str, int]:
    statement = read(source, content, day)
    file_hash = hashlib.sha256(content).hexdigest()
    done = import_statement(database.owner, statement, file_hash, "cli:ann", as_of=date.fromisoformat(day))
    assert done.plan is not None
    return done.plan.counts


def test_july_priced_again_in_september_as_known_in_july_gives_julys_figures(
    database: Database, tenant: TenantContext
) -> None:
    own = replace(ROW, seller="july", model="july-chat")
    add_rows(database.app, [own], "cli:ann", tenant=tenant.tenant, at=datetime(2026, 7, 1, tzinfo=UTC))
    sent = body([event("e1", provider="july", model="july-chat")])
    ingest(database.app, tenant, load_layers(database.app, tenant.tenant, AUGUST), sent)
    # In September it is learned that July cost half of it.
    half = replace(own, prices={"uncached_input": 1_000_000_000, "output": 3_000_000_000})
    add_rows(database.app, [half], "cli:ann", tenant=tenant.tenant, at=SEPTEMBER)
    as_july = reprice(database.app, tenant, load_layers(database.app, tenant.tenant, AUGUST), JULY, AUGUST)
    as_now = reprice(database.app, tenant, load_layers(database.app, tenant.tenant), JULY, AUGUST)
    assert (as_july.read, as_july.changed) == (1, 0)
    assert (as_now.read, as_now.changed) == (1, 1)
    with read_only(database.app, tenant.tenant) as connection:
        booked = connection.exec_driver_sql("SELECT sum(contracted_cost)::text FROM ledger").scalar_one()
    assert booked == "0.002600000000000"  # 1,000 in at 2 and 100 out at 6 a million


def test_a_row_of_a_tenant_holds_for_it_alone(database: Database, tenant: TenantContext) -> None:
    add_rows(database.app, [ROW], "key:k1", tenant=tenant.tenant)
    create_tenant(database.owner, "other", "Other")
    assert _cost(database, tenant)[1] == 2_600_000_000_000
    assert _cost(database, context(database.app, "other")) == (0, 0, "unknown_seller")
    assert prices(database.app, "other", seller="acme") == []
    (shown,) = prices(database.app, tenant.tenant, seller="acme")
    assert (shown["own"], shown["created_by"], shown["prices"]) == (
        True,
        "key:k1",
        {"output": "6", "uncached_input": "2"},
    )


def test_a_new_row_ends_the_one_before_it_and_a_withdrawn_one_never_was(
    database: Database, tenant: TenantContext
) -> None:
    add_rows(database.app, [ROW], "key:k1", tenant=tenant.tenant)
    later = replace(ROW, effective_from=AUGUST, prices={"uncached_input": 3_000_000_000})
    (made,) = add_rows(database.app, [later], "key:k1", tenant=tenant.tenant)
    rows = prices(database.app, tenant.tenant, seller="acme")
    assert [(row["effective_from"], row["effective_until"]) for row in rows] == [
        ("2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z"),
        ("2026-08-01T00:00:00Z", None),
    ]
    with pytest.raises(Conflict, match="overlaps"):
        add_rows(
            database.app,
            [replace(ROW, effective_from=datetime(2026, 7, 15, tzinfo=UTC))],
            "key:k1",
            tenant=tenant.tenant,
        )
    withdraw_row(database.app, made["sku_price_id"], "key:k1", tenant=tenant.tenant)
    assert len(prices(database.app, tenant.tenant, seller="acme")) == 1
    with pytest.raises(NotFound):
        withdraw_row(database.app, made["sku_price_id"], "key:k1", tenant=tenant.tenant)


def test_a_price_per_token_typed_as_per_million_is_refused_by_field_and_value(
    database: Database, tenant: TenantContext
) -> None:
    entry = {"seller": "openai", "model": "gpt-4o", "uncached_input": "0.0000025", "effective_from": "2026-07-01"}
    with pytest.raises(InvalidInput) as refused:
        enter_rows(database.app, [entry], "key:k1", tenant=tenant.tenant)
    assert (refused.value.field, refused.value.value) == ("rows[0].uncached_input", "0.0000025")


def test_a_contract_changes_what_is_paid_from_when_it_is_known(database: Database, tenant: TenantContext) -> None:
    add_rows(database.owner, [replace(ROW, seller="signed")], "cli:op")
    before = datetime.now(UTC)
    rule = PriceRule("all", "discount", Scope(), "0.10")
    signed = Contract("c1", tenant.tenant, "signed", "USD", effective_from=JULY, rules=(rule,))
    assert contracts.record(database.app, tenant, signed, "key:k1") == {"contract_id": "c1", "recorded": True}
    assert contracts.record(database.app, tenant, signed, "key:k1") == {"contract_id": "c1", "recorded": False}
    assert _cost(database, tenant, seller="signed") == (2_600_000_000_000, 2_340_000_000_000, "")
    assert _cost(database, tenant, before, "signed") == (2_600_000_000_000, 2_600_000_000_000, "")
    with read_only(database.app, tenant.tenant) as connection:
        derived = connection.exec_driver_sql("SELECT count(*) FROM tariffs WHERE derived_from IS NOT NULL").scalar_one()
    assert derived == 1
    contracts.withdraw(database.app, tenant, "c1", "key:k1")
    assert _cost(database, tenant, seller="signed")[1] == 2_600_000_000_000
    with pytest.raises(InvalidInput, match="tenant='elsewhere'"):
        contracts.record(database.app, tenant, replace(signed, tenant="elsewhere"), "key:k1")


def test_a_table_ends_what_it_drops_and_a_doubtful_price_waits(database: Database) -> None:
    assert _import(database, _table(kept=1, gone=1), "2026-01-01")["new"] == 2
    # 100 times the price at another source: only proposed, and the row before it stays in force.
    own = b"seller,model,uncached_input,effective_from\nrare,kept,100,2026-03-01\n"
    assert _import(database, own, "2026-03-01", "csv") == {
        "new": 1,
        "ended": 0,
        "withdrawn": 0,
        "unchanged": 0,
        "proposed": 1,
        "disagreements": 1,
    }
    assert _import(database, _table(kept=1, free=0), "2026-02-01")["ended"] == 1
    gone = history(database.app, "", "gone", seller="rare")
    assert [(row["effective_from"], row["effective_until"]) for row in gone] == [
        ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    ]
    waiting = proposals(database.app, "", seller="rare")
    assert sorted((row["model"], row["list_source"]) for row in waiting) == [("kept", "csv")]
    on = datetime(2026, 4, 1, tzinfo=UTC)
    (row,) = prices(database.app, "", seller="rare", model="kept", on=on)
    assert row["prices"]["uncached_input"] == "1"
    decide(database.owner, "refuse", "cli:ann", [waiting[0]["sku_price_id"]])
    assert proposals(database.app, "", seller="rare") == []
    decide(database.owner, "approve", "cli:bob", [waiting[0]["sku_price_id"]])
    (row,) = prices(database.app, "", seller="rare", model="kept", on=on)
    assert (row["prices"]["uncached_input"], row["approved_by"]) == ("100", "cli:bob")


def test_an_unpriced_model_shows_what_is_at_stake_and_is_priced_by_one_act(
    database: Database, tenant: TenantContext
) -> None:
    sent = [event("u1", model="o3-corp", user_id="ann"), event("u2", model="o3-corp", user_id="bob")]
    sent.append(event("u3", model="o3-corp", user_id="bob", occurred_at="2026-07-02T12:00:00Z"))
    ingest(database.app, tenant, load_layers(database.app, tenant.tenant), body(sent))
    (row,) = unpriced(database.app, tenant)
    assert row == {
        "seller": "openai",
        "model": "o3-corp",
        "reason": "unknown_model",
        "events": 3,
        "input_tokens": 3_000,
        "output_tokens": 300,
        "days": 2,
        "users": 2,
        "first_seen": "2026-07-01T12:00:00Z",
        "last_seen": "2026-07-02T12:00:00Z",
    }
    done = assign(database.app, tenant.tenant, "o3-corp", "openai/o3", "key:k1")
    assert done == {"seller": "openai", "model": "o3-corp", "like": "openai/o3", "rows": 0}
    plan = reprice(database.app, tenant, load_layers(database.app, tenant.tenant), JULY, AUGUST, apply=True)
    assert plan.changed == 3
    assert unpriced(database.app, tenant) == []
    with pytest.raises(NotFound, match="like='openai/none'"):
        assign(database.app, tenant.tenant, "x", "openai/none", "key:k1", seller="openai")


def test_the_price_of_another_sellers_model_becomes_rows_of_the_tenants_own(
    database: Database, tenant: TenantContext
) -> None:
    done = assign(database.app, tenant.tenant, "corp-o3", "openai/o3", "key:k1", seller="gateway")
    assert done["rows"] > 0
    rows = prices(database.app, tenant.tenant, seller="gateway", on=JULY)
    assert {(row["model"], row["source"], row["own"]) for row in rows} == {("corp-o3", "like openai/o3", True)}


def test_every_change_is_in_the_log_with_who_and_what(database: Database, tenant: TenantContext) -> None:
    stamp = audit.stamp(database.app, tenant.tenant)
    (made,) = add_rows(database.app, [ROW], "key:k9", tenant=tenant.tenant)
    assert audit.stamp(database.app, tenant.tenant) != stamp
    newest: dict[str, Any] = audit.listed(database.app, tenant, limit=1)[0]
    assert (newest["actor"], newest["action"], newest["subject"]) == ("key:k9", "prices.add", made["sku_price_id"])
    assert newest["after"]["prices"] == {"output": "6", "uncached_input": "2"}
    assert newest["for"] == tenant.tenant


def test_books_are_read_anew_once_a_price_changes_and_not_for_an_act_on_keys(
    database: Database, tenant: TenantContext
) -> None:
    before = load_layers(database.app, tenant.tenant)
    create_key(database.owner, tenant.tenant, "viewer")
    assert load_layers(database.app, tenant.tenant) is before
    add_rows(database.app, [ROW], "key:k9", tenant=tenant.tenant)
    assert load_layers(database.app, tenant.tenant) is not before
    assert _cost(database, tenant)[1] == 1000 * 2_000_000_000 + 100 * 6_000_000_000


def test_all_that_is_proposed_for_a_seller_is_decided_at_once_and_nothing_else(database: Database) -> None:
    first = {
        name: {"litellm_provider": name[:4], "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-05}
        for name in ("many-a", "many-b", "more-a")
    }
    _import(database, json.dumps(first).encode(), "2026-04-01")
    doubtful = "".join(f"{name[:4]},{name},100,2026-03-01\n" for name in first)
    _import(database, f"seller,model,uncached_input,effective_from\n{doubtful}".encode(), "2026-04-01", "csv")

    def waiting() -> list[str]:
        return sorted(row["model"] for row in proposals(database.app, "", source="csv") if row["model"] in first)

    assert waiting() == ["many-a", "many-b", "more-a"]
    decided = decide(database.owner, "approve", "cli:ann", source="csv", seller="many")
    assert sorted((row["model"], row["approved_by"]) for row in decided) == [
        ("many-a", "cli:ann"),
        ("many-b", "cli:ann"),
    ]
    assert waiting() == ["more-a"]
    assert [row["model"] for row in decide(database.owner, "refuse", "cli:ann", model="more-a")] == ["more-a"]
    assert waiting() == []
    assert decide(database.owner, "approve", "cli:ann", model="more-a") == []
    with pytest.raises(InvalidInput, match="name either ids or a source, seller or model"):
        decide(database.owner, "approve", "cli:ann")
    with pytest.raises(InvalidInput, match="name either ids or a source, seller or model"):
        decide(database.owner, "approve", "cli:ann", [decided[0]["sku_price_id"]], seller="many")
