"""Erasing a user whose usage has settlement lines of a contract and corrections: identity goes, amounts stay.

Three million tokens of July, 1.2 million of them the canary's, at 3 dollars a million by the price book of now. By the tier the first
million costs 3, the second 1 and the third a quarter of 3: 4.75, of which the canary has 1.2 of 3, 1.9.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from accounting.ledger import rollups
from accounting.ledger.check import check, differences
from accounting.ledger.reprice import reprice
from accounting.ledger.settle import settle
from accounting.pipeline import ingest
from accounting.pricing.contract import Commitment, Contract, Credit, Scope, VolumeStep, VolumeTier
from accounting.pricing.tariff import Alias, Tariff
from accounting.storage.contracts import record
from accounting.storage.engine import transaction
from accounting.storage.retention import erase_user
from accounting.storage.tables import metadata
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.prices import stored_book
from tests.conftest import Database
from tests.events import body, event
from tests.own_tenant import own_tenant

pytestmark = pytest.mark.storage

JULY, AUGUST = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)
OLD = Tariff("acme", "m", {"uncached_input": 2 * 10**9, "output": 10 * 10**9}, source="test", source_version="1")
NEW = replace(OLD, prices={"uncached_input": 3 * 10**9, "output": 10 * 10**9})
NAMES = [Alias("acme", "m", "m", "test")]
TIER = VolumeTier(
    "bulk",
    Scope(token_classes=frozenset({"uncached_input"})),
    None,
    (VolumeStep(1_000_000, "price", "1"), VolumeStep(2_000_000, "discount", "0.75")),
)
CANARY = {"user_id": "canary-user", "trace_id": "canary-trace", "tags": {"team": "canary-tag"}}
COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")


def _call(event_id: str, day: str, tokens: int, **of: Any) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 0}
    return event(event_id, provider="acme", model="m", occurred_at=f"{day}T12:00:00Z", usage=usage, **of)


@pytest.fixture
def tenant(database: Database, request: pytest.FixtureRequest) -> TenantContext:
    """A contract with a tier, a commitment and a credit; usage booked, settled, re-priced and settled again."""
    name = own_tenant(request.node.name)
    create_tenant(database.owner, name, name)
    found = context(database.app, name)
    parts: dict[str, Any] = {
        "volume_tiers": (TIER,),
        "commitments": (Commitment("c1", "prepaid", "4", date(2026, 7, 1), date(2026, 7, 31)),),
        "credits": (Credit("k", "0.5", 1, JULY, None),),
    }
    record(database.app, found, Contract("k1", found.tenant, "acme", "USD", JULY, **parts), "test")
    calls = [
        _call("a", "2026-07-03", 1_200_000, **CANARY),
        _call("b", "2026-07-09", 1_500_000, user_id="bob"),
        _call("c", "2026-07-09", 300_000, user_id="bob"),
    ]
    assert ingest(database.app, found, stored_book(database, [OLD], NAMES), body(calls)).accepted == 3
    settle(database.app, found)
    new = stored_book(database, [NEW], NAMES)
    assert reprice(database.app, found, new, JULY, AUGUST, apply=True).charges == 3
    settle(database.app, found)
    return found


def _rows(database: Database, tenant: TenantContext, query: str) -> list[tuple[Any, ...]]:
    with transaction(database.app, tenant.tenant) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def _by_user(database: Database, tenant: TenantContext, source: str) -> dict[str, list[tuple[Any, ...]]]:
    """User -> a row a category, with the sums of the four costs."""
    sums = ", ".join(f"sum({name})" for name in COSTS)
    found: dict[str, list[tuple[Any, ...]]] = {}
    query = f"SELECT coalesce(user_id, ''), category, {sums} FROM {source} GROUP BY 1, 2 ORDER BY 1, 2"
    for user, *rest in _rows(database, tenant, query):
        found.setdefault(user, []).append(tuple(rest))
    return found


def test_identity_goes_from_settlement_lines_and_corrections_and_amounts_stay(
    database: Database, tenant: TenantContext
) -> None:
    before = {source: _by_user(database, tenant, source) for source in ("ledger", "rollup_user_day")}
    usage = next(row for row in before["ledger"]["canary-user"] if row[0] == "Usage")
    assert usage[1:3] == (Decimal("3.6"), Decimal("1.9"))
    kinds = "SELECT DISTINCT basis FROM charges WHERE user_id = 'canary-user' ORDER BY 1"
    assert _rows(database, tenant, kinds) == [("contract",), ("price_list",)]
    tombstone = str(erase_user(database.owner, tenant.tenant, "canary-user")["tombstone"])
    for table in metadata.tables.values():
        assert "canary" not in str(_rows(database, tenant, f"SELECT t::text FROM {table.name} t")), table.name
    for source, held in before.items():
        held[tombstone] = held.pop("canary-user")
        assert _by_user(database, tenant, source) == held
    assert differences(check(database.app, tenant)) == []
    kept = _rows(database, tenant, "SELECT * FROM rollup_user_day ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9")
    with transaction(database.app, tenant.tenant) as connection:
        rollups.rebuild(connection, tenant.tenant, tenant.reporting_tz)
    assert _rows(database, tenant, "SELECT * FROM rollup_user_day ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9") == kept


def test_the_next_settlement_finds_the_erased_users_lines_settled(database: Database, tenant: TenantContext) -> None:
    erase_user(database.owner, tenant.tenant, "canary-user")
    lines = _rows(database, tenant, "SELECT count(*) FROM charges")
    settle(database.app, tenant)
    assert _rows(database, tenant, "SELECT count(*) FROM charges") == lines
    assert differences(check(database.app, tenant)) == []
