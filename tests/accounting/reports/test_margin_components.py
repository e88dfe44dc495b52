"""Do tools, own machines and idle machines stand on columns of their own, and are they moved and not counted twice?

`searcher` costs 1 and 2 dollars a million tokens, 10 for a thousand searches, 1 for a thousand fetches; `asker` the same tokens and 5 for
a thousand requests. A call of 1,000 in and 100 out costs 0.0012 without tools.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from accounting.ledger.revise import revise, void
from accounting.pipeline import ingest
from accounting.pricing.book import PriceBook
from accounting.pricing.tariff import Alias, Tariff
from accounting.reports import ReportQuery, run
from accounting.storage.tariffs import read_tariffs, write_tariffs
from accounting.storage.tenants import context, create_tenant
from accounting.tenant import TenantContext
from tests.accounting.ledger.pool_world import PoolWorld, request
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

TOKENS = {"uncached_input": 1 * 10**9, "output": 2 * 10**9}
SOLD = [
    Tariff("toolmaker", "searcher", {**TOKENS, "web_search": 10 * 10**12, "web_fetch": 1 * 10**12}, source="test"),
    Tariff("toolmaker", "asker", {**TOKENS, "requests": 5 * 10**12}, source="test"),
]
COSTS = ("provider_cost", "tools_cost", "self_hosted_cost", "idle_cost")


def _call(event_id: str, user: str, model: str = "searcher", **usage: int) -> dict[str, Any]:
    return event(event_id, provider="toolmaker", model=model, user_id=user, feature=user, usage=usage)


@pytest.fixture(scope="module")
def tenant(database: Database) -> TenantContext:
    """ann searches thrice and fetches once; bob asks; cyd's three searches are revised to one; dan's free one counts, eve's is void."""
    create_tenant(database.owner, "tools", "Tools")
    found = context(database.app, "tools")
    listed, aliases = read_tariffs(database.app, "tools")
    with database.owner.begin() as connection:
        write_tariffs(connection, SOLD, aliases)
    named = [Alias(row.seller, row.model, row.model, "test") for row in SOLD]
    book = PriceBook([*listed, *SOLD], [*aliases, *named])
    sent = [
        _call("a", "ann", web_search_requests=3, web_fetch_requests=1),
        _call("b", "bob", "asker"),
        _call("c", "cyd", web_search_requests=3),
        {**_call("d", "dan", web_search_requests=1), "purpose": "free"},
        _call("e", "eve", web_search_requests=4),
        event("f", user_id="fay"),
    ]
    assert ingest(database.app, found, book, body(sent)).accepted == 6
    revise(database.app, found, book, "c", json.dumps(_call("c", "cyd", web_search_requests=1)).encode())
    void(database.app, found, "e", "sent by mistake")
    return found


def _margin(database: Database, tenant: TenantContext, by: str = "user") -> Any:
    return run(database.app, tenant, "margin", ReportQuery.parse("2026-07-01", "2026-07-02", "UTC", by))


def _dec(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


def test_searches_fetches_and_requests_are_tools_and_tokens_are_not(database: Database, tenant: TenantContext) -> None:
    rows = {row["user_id"]: [row["provider_cost"], row["tools_cost"]] for row in _margin(database, tenant).rows}
    assert rows["ann"] == _dec("0.0012", "0.031")
    assert rows["bob"] == _dec("0.0012", "0.005")
    assert rows["cyd"] == _dec("0.0012", "0.01")
    assert rows["dan"] == _dec("0.0012", "0.01")
    assert rows["fay"] == _dec("0.0028", "0")
    assert rows.get("eve", _dec("0", "0")) == _dec("0", "0")


@pytest.mark.parametrize("by", ["user", "account", "plan", "feature", "model", "cohort"])
def test_tools_are_the_same_however_they_are_grouped(database: Database, tenant: TenantContext, by: str) -> None:
    report = _margin(database, tenant, by)
    (total,) = [row for row in report.totals if row["row"] == "total"]
    assert [total[name] for name in COSTS] == _dec("0.0076", "0.056", "0", "0")
    assert {line.name: line.amount for line in report.footer}["difference"] == 0


def test_tools_of_the_free_tier_leave_with_it(database: Database, tenant: TenantContext) -> None:
    (out,) = [row for row in _margin(database, tenant).totals if row["row"] == "total_free_tier_out"]
    assert [out[name] for name in COSTS] == _dec("0.0064", "0.046", "0", "0")
    assert out["contribution_margin"] == Decimal("-0.0524")


def test_a_pools_bill_is_its_requests_cost_and_idle_and_nothing_of_a_providers(database: Database) -> None:
    """Settled, revised and settled again: what was reversed leaves the column it stood in."""
    world = PoolWorld.make(database)
    calls = [
        request("a", "10:00:00", "10:00:01", "10:00:03", user_id="ann"),
        request("b", "10:00:01", "10:00:02", "10:00:04", user_id="bob"),
    ]
    world.send(*calls)
    world.bill("2.49", "01T10")
    world.settle()
    before = _pool_costs(world)
    world.revise({**calls[1], "user_id": "cyd"})
    world.settle()
    after = _pool_costs(world)
    assert set(before) == {"ann", "bob", "idle"}
    assert {key for key, costs in after.items() if any(costs)} == {"ann", "cyd", "idle"}
    for rows in (before, after):
        provider, tools, hosted, idle = (sum(column, Decimal(0)) for column in zip(*rows.values(), strict=True))
        assert (provider, tools, hosted + idle) == (0, 0, Decimal("2.49"))
        assert rows["idle"][3] == idle == world.hour_line("01T10", "idle")
        assert rows["ann"][2] > 0


def _pool_costs(world: PoolWorld) -> dict[str, list[Decimal]]:
    query = ReportQuery.parse("2026-10-01", "2026-10-02", "UTC")
    rows = run(world.database.app, world.tenant, "margin", query).rows
    users = run(world.database.app, world.tenant, "user-margin", query).rows
    (idle,) = [row["effective_cost"] for row in users if row["row"] == "idle"]
    assert [row["idle_cost"] for row in rows if row["row"] == "idle"] == [idle]
    return {row["user_id"] or row["row"]: [row[name] or Decimal(0) for name in COSTS] for row in rows}


def test_the_bridge_has_what_idle_machines_cost(database: Database) -> None:
    world = PoolWorld.make(database)
    world.send(request("a", "10:00:00", "10:00:01", "10:00:03", user_id="ann"))
    world.bill("2.49", "01T10")
    world.settle()
    report = run(
        world.database.app, world.tenant, "margin-bridge", ReportQuery.parse("2026-10-01", "2026-10-02", "UTC")
    )
    steps = {row["step"]: row["cost"] for row in report.rows}
    assert steps["idle"] == world.hour_line("01T10", "idle")
    assert steps["idle"] + steps["unmatched"] == Decimal("2.49")
