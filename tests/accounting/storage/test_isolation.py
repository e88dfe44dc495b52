"""Tenants never see each other: every table, partition, view and endpoint, while rows of both are there.

Everything of the tenant `canaryb` has `canaryb` in it. The tests act as the tenant `alpha` and look for that word.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from sqlalchemy import Connection, text

import api.routes
from tests.accounting.storage.isolation_rows import COLUMNS
from tests.accounting.storage.isolation_walk import AFTER, BEFORE, PERIOD, REFUSED, WALK, subscription
from tests.accounting.storage.isolation_world import (
    NO_ROWS_OF_TENANTS,
    A,
    B,
    World,
    as_a,
    attempt,
    relations,
    unprotected,
    world,
)
from tests.api.serving import Running
from tests.events import body, event

__all__ = ["as_a", "world"]

pytestmark = pytest.mark.storage


def _everything(world: World) -> dict[str, list[str]]:
    """Every row of B as text, by table."""
    with world.superuser.connect() as connection:
        names = [row.name for row in relations(connection) if row.has_tenant and row.kind in ("r", "v")]
        rows = {name: connection.execute(text(f"SELECT t::text FROM {name} t WHERE tenant = '{B}'")) for name in names}
        return {name: sorted(found.scalars()) for name, found in rows.items()}


def test_every_relation_is_protected(world: World) -> None:
    with world.superuser.connect() as connection:
        assert unprotected(connection) == []


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TABLE fresh (tenant text, x int)", "fresh"),
        ("CREATE TABLE fresh AS SELECT * FROM plans", "fresh"),
        ("CREATE TABLE fresh (tenant text); ALTER TABLE fresh ENABLE ROW LEVEL SECURITY", "fresh"),
        (
            "CREATE TABLE fresh (tenant text); ALTER TABLE fresh ENABLE ROW LEVEL SECURITY; "
            "ALTER TABLE fresh FORCE ROW LEVEL SECURITY",
            "fresh",
        ),
        ("CREATE VIEW fresh AS SELECT * FROM plans", "fresh"),
        ("CREATE MATERIALIZED VIEW fresh AS SELECT * FROM plans", "fresh"),
        (
            "CREATE TABLE fresh PARTITION OF usage_events FOR VALUES FROM ('2001-01-01 00:00+00') TO ('2001-02-01 00:00+00')",
            "fresh",
        ),
    ],
)
def test_a_new_relation_without_its_policy_fails_the_walk(world: World, statement: str, name: str) -> None:
    with world.database.owner.connect() as connection:
        for part in statement.split(";"):
            connection.execute(text(part))
        assert unprotected(connection) == [name]
        connection.rollback()


def test_the_application_neither_owns_nor_bypasses(world: World) -> None:
    query = """
        SELECT rolname, rolsuper OR rolbypassrls OR rolcreaterole AS privileged,
               EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relowner = r.oid) AS owns,
               pg_has_role(rolname, (SELECT relowner FROM pg_class WHERE oid = 'plans'::regclass), 'MEMBER') AS owner_too
        FROM pg_roles r WHERE rolname IN (:login, 'tokencogs_app')
    """
    with world.database.app.connect() as connection:
        login = connection.execute(text("SELECT current_user")).scalar_one()
        rows = connection.execute(text(query), {"login": login}).all()
    assert sorted(tuple(row) for row in rows) == sorted(
        [(login, False, False, False), ("tokencogs_app", False, False, False)]
    )


def test_no_function_runs_with_its_owners_rights(world: World) -> None:
    query = "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef"
    with world.superuser.connect() as connection:
        assert connection.execute(text(query)).all() == []


def test_the_application_can_not_edit_what_is_booked(world: World) -> None:
    query = """
        SELECT c.oid::regclass::text, privilege FROM pg_class c, unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) privilege
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          AND (c.relname IN ('charges', 'event_ids', 'raw_usage', 'tariffs', 'tariff_prices', 'tariff_records', 'contracts', 'audit_log',
                             'pools', 'pool_replicas', 'gpu_rates', 'pool_bills', 'unused_gpu_hours', 'pool_hours',
                             'pool_steps')
               OR c.relname ~ '^usage_events')
          AND (has_table_privilege('tokencogs_app', c.oid, privilege)
               OR privilege = 'UPDATE' AND has_any_column_privilege('tokencogs_app', c.oid, 'UPDATE'))
    """
    with world.superuser.connect() as connection:
        assert connection.execute(text(query)).all() == []


def test_both_tenants_have_rows_in_every_relation(world: World) -> None:
    with world.superuser.connect() as connection:
        for row in relations(connection):
            if row.name not in NO_ROWS_OF_TENANTS:
                there = set(connection.execute(text(f"SELECT DISTINCT tenant FROM {row.name}")).scalars())
                assert {A, B} <= there, row.name


def test_a_tenant_reads_no_row_of_another(as_a: Connection) -> None:
    own = set()
    for row in relations(as_a):
        seen = attempt(as_a, f"SELECT t::text FROM {row.name} t")
        if seen is not None and row.name not in NO_ROWS_OF_TENANTS:
            assert B not in str(seen), row.name
            assert A in str(seen), row.name
            own.add(row.name)
    assert {"usage_events", "charges", "ledger", "rollup_15m", "rollup_user_day", "api_keys", "tariffs"} <= own


def test_without_a_tenant_no_row_of_any_is_seen(world: World) -> None:
    with world.database.app.connect() as connection:
        for row in relations(connection):
            if row.name not in NO_ROWS_OF_TENANTS:
                seen = attempt(connection, f"SELECT count(*) FROM {row.name} WHERE tenant IS NOT NULL")
                assert seen in (None, [(0,)]), row.name


@pytest.mark.parametrize("spelling", ["", "%", "alpha,canaryb", "' OR true --", "ALPHA"])
def test_no_spelling_of_the_tenant_opens_more(world: World, spelling: str) -> None:
    with world.database.app.connect() as connection:
        connection.execute(text("SELECT set_config('tokencogs.tenant', :tenant, true)"), {"tenant": spelling})
        assert connection.execute(text("SELECT count(*) FROM ledger")).scalar_one() == 0


def test_the_tenant_does_not_outlive_its_transaction(world: World) -> None:
    with world.database.app.connect() as connection:
        connection.execute(text("SELECT set_config('tokencogs.tenant', :tenant, true)"), {"tenant": B})
        assert connection.execute(text("SELECT count(*) FROM ledger")).scalar_one() > 0
        connection.commit()
        assert connection.execute(text("SELECT count(*) FROM ledger")).scalar_one() == 0


def test_a_tenant_writes_no_row_of_another(as_a: Connection) -> None:
    for row in relations(as_a):
        if row.kind not in ("r", "p") or not row.has_tenant:
            continue
        columns = [column.name for column in as_a.execute(text(COLUMNS), {"table": row.name})]
        values = ", ".join(f"'{B}'" if name == "tenant" else name for name in columns)
        insert = f"INSERT INTO {row.name} ({', '.join(columns)}) SELECT {values} FROM {row.name} WHERE tenant = '{A}'"
        assert attempt(as_a, insert) is None, row.name
        assert attempt(as_a, f"UPDATE {row.name} SET tenant = '{B}' WHERE tenant = '{A}'") is None, row.name
        assert attempt(as_a, f"UPDATE {row.name} SET tenant = tenant WHERE tenant = '{B}'") in (None, [(0,)]), row.name
        assert attempt(as_a, f"DELETE FROM {row.name} WHERE tenant = '{B}'") in (None, [(0,)]), row.name
        assert attempt(as_a, f"TRUNCATE {row.name}") is None, row.name


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("rollup_15m", "DELETE FROM rollup_15m"),
        ("rollup_user_day", "DELETE FROM rollup_user_day"),
        ("plans", "UPDATE plans SET display_name = 'taken'"),
        ("subscriptions", "UPDATE subscriptions SET user_id = 'taken'"),
        ("exceptions", "UPDATE exceptions SET resolved_at = now(), resolution = 'dismissed'"),
        ("settlement_runs", "UPDATE settlement_runs SET finished_at = now()"),
    ],
)
def test_a_statement_without_a_condition_reaches_only_own_rows(
    world: World, as_a: Connection, table: str, statement: str
) -> None:
    with world.superuser.connect() as connection:
        own = connection.execute(text(f"SELECT count(*) FROM {table} WHERE tenant = '{A}'")).scalar_one()
    assert own > 0
    assert attempt(as_a, statement) == [(own,)]


def _exception(world: World, tenant: str) -> str:
    query = f"SELECT exception_id FROM exceptions WHERE tenant = '{tenant}' AND kind = 'contradiction'"
    with world.superuser.connect() as connection:
        return str(connection.execute(text(query)).scalar_one())


def _served(server: Running) -> set[tuple[str, str]]:
    """Every route of the app, also one left out of its description."""
    modules = [
        importlib.import_module(f"api.routes.{found.name}") for found in pkgutil.iter_modules(api.routes.__path__)
    ]
    routes = [*server.app.routes, *(route for module in modules for route in module.router.routes)]
    flat = [
        (method, getattr(route, "path_format", None))
        for route in routes
        for method in getattr(route, "methods", None) or ()
    ]
    described = [(method.upper(), path) for path, family in server.app.openapi()["paths"].items() for method in family]
    return {(method, path) for method, path in [*flat, *described] if path is not None and method != "HEAD"}


def test_the_walk_has_every_route(world: World) -> None:
    assert _served(world.server) == set(WALK)


@pytest.mark.parametrize(("method", "path"), list(WALK))
def test_no_endpoint_shows_a_word_of_another_tenant(world: World, method: str, path: str) -> None:
    around = (BEFORE.get((method, path)), (method, path), AFTER.get((method, path)))
    with world.server.client(world.keys[A]["admin"]) as client:
        for route in filter(None, around):
            for url, options in WALK[route]:
                answer = client.request(route[0], url.replace("{alpha}", _exception(world, A)), **options)
                assert answer.status_code == (400 if route in REFUSED else 200), answer.text
                assert REFUSED.get(route, "") in answer.text
                assert B not in answer.text + str(answer.headers)


def test_the_other_tenant_does_see_its_own(world: World) -> None:
    """Else the walk above would pass on empty answers."""
    shown = (
        "/v1/plans",
        "/v1/subscriptions",
        f"/v1/usage/events/{B}-priced/charge",
        "/v1/exceptions",
        "/v1/cost-basis",
        "/v1/prices/unpriced",
        "/v1/prices/imports",
        "/v1/prices/disagreements",
        "/v1/prices/alert-hook",
        "/v1/audit",
    )
    reports = ("/v1/reports/user-margin", "/v1/reports/cost-of-revenue")
    with world.server.client(world.keys[B]["admin"]) as client:
        texts = [client.get(url).text for url in shown] + [client.get(url, params=PERIOD).text for url in reports]
    assert [B in answer for answer in texts] == [True] * 12


def test_naming_another_tenants_things_finds_nothing_and_changes_nothing(world: World) -> None:
    before = _everything(world)
    with world.server.client(world.keys[A]["admin"]) as client:
        event_url = f"/v1/usage/events/{B}-priced"
        refused = [
            client.get(f"{event_url}/charge"),
            client.post(f"{event_url}/void", json={"reason": "x"}),
            client.post(f"{event_url}/revisions", json=event(f"{B}-priced", usage={"input_tokens": 1})),
            client.post(f"/v1/exceptions/{_exception(world, B)}/dismiss"),
            client.post("/v1/exceptions/replay", json={"exception_ids": [_exception(world, B)]}),
            client.delete("/v1/cost-basis", params={"provider": f"{B}-seller"}),
            client.delete("/v1/prices/rows/0000000000000007"),
            client.post("/v1/prices/approve", json={"sku_price_ids": ["0000000000000007"]}),
            client.delete(f"/v1/prices/contracts/{B}-contract"),
        ]
        listed = client.get("/v1/subscriptions", params={"plan": f"{B}-plan"})
        sold = client.put("/v1/subscriptions/alpha-other", json={**subscription(A), "plan": f"{B}-plan"})
        # The same keys under another tenant are other things.
        made = client.put(f"/v1/plans/{B}-plan", json={"display_name": "ours"})
        sent = client.post("/v1/usage/events", content=body([event(f"{B}-priced", model="o3-mini")]))
    assert [answer.status_code for answer in refused] == [404] * 9
    assert listed.json() == {"subscriptions": []}
    assert sold.status_code == 400
    assert (made.json()["plan"], made.json()["display_name"]) == (f"{B}-plan", "ours")
    assert sent.json() == {"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}
    assert _everything(world) == before


def test_a_key_of_one_tenant_is_unknown_under_the_other(world: World) -> None:
    stolen = world.keys[A]["admin"].replace(f"tc_{A}_", f"tc_{B}_")
    with world.server.client(stolen) as client:
        assert client.get("/v1/plans").status_code == 401
