"""Tenants never see each other: every table, partition, view and endpoint, while rows of both are there.

Everything of the tenant `canaryb` has `canaryb` in it. The tests act as the tenant `alpha` and look for that word.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import ProgrammingError

import api.routes
from accounting.storage.engine import transaction
from tests.accounting.storage.isolation_walk import AFTER, BEFORE, PERIOD, REFUSED, WALK, chat, curve, subscription
from tests.api.serving import Running, make_keys, running
from tests.conftest import Database
from tests.events import body, event

pytestmark = pytest.mark.storage

A, B = "alpha", "canaryb"
NO_ROWS_OF_TENANTS = {"alembic_version"}
"""One row, the schema's revision; the application may read it at most."""

RELATIONS = """
    SELECT c.oid::regclass::text AS name, c.relkind AS kind, c.relrowsecurity AS secured, c.relforcerowsecurity AS forced,
           coalesce(c.reloptions::text[] && ARRAY['security_invoker=true', 'security_invoker=on'], false) AS invoker,
           EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid) AS has_policy,
           EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant') AS has_tenant,
           pg_get_userbyid(c.relowner) AS owner
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1
"""
DENIED = "42501"
"""SQLSTATE of a missing privilege and of a row that a policy refuses."""


def _relations(connection: Connection) -> list[Any]:
    return list(connection.execute(text(RELATIONS)))


def _unprotected(connection: Connection) -> list[str]:
    """Relations that could show one tenant's rows to another."""
    found = []
    for row in _relations(connection):
        if row.name in NO_ROWS_OF_TENANTS:
            continue
        guarded = row.invoker if row.kind == "v" else row.secured and row.forced and row.has_policy
        if row.kind in ("m", "f") or not guarded or not row.has_tenant:
            found.append(row.name)
    return found


@dataclass(frozen=True)
class World:
    """Both tenants with rows everywhere, and a server. Attributes: keys: tenant -> scope -> key."""

    database: Database
    server: Running
    keys: dict[str, dict[str, str]]
    superuser: Engine


@pytest.fixture(scope="module")
def world(database: Database) -> Iterator[World]:
    keys = {tenant: make_keys(database, tenant) for tenant in (A, B)}
    superuser = create_engine(database.superuser_url)
    with running(database) as server:
        for tenant in (A, B):
            with server.client(keys[tenant]["admin"]) as client:
                _fill_by_api(client, tenant)
            with transaction(database.owner, tenant) as connection:
                _fill_by_owner(connection, tenant)
        yield World(database, server, keys, superuser)
    superuser.dispose()


def _fill_by_api(client: httpx.Client, tenant: str) -> None:
    named = {
        "user_id": f"{tenant}-user",
        "account_id": f"{tenant}-account",
        "feature": f"{tenant}-feature",
        "tags": {f"{tenant}-tag": f"{tenant}-value"},
        "trace_id": f"{tenant}-trace",
    }
    sent = [
        event(f"{tenant}-priced", **named),
        event(f"{tenant}-unpriced", model=f"{tenant}-model", **named),
        event(f"{tenant}-void", **named),
        event(f"{tenant}-more", **named),
    ]
    assert client.post("/v1/usage/events", content=body(sent)).json()["accepted"] == 4
    other = event(f"{tenant}-priced", model=f"{tenant}-other", **named)
    assert len(client.post("/v1/usage/events", content=body([other])).json()["conflicts"]) == 1
    wire = client.post("/v1/usage/openai_chat", json=chat(tenant)).json()
    assert [row["event_id"] for row in wire["exceptions"]] == [f"openai:{tenant}-chat"]
    answers = [
        client.put("/v1/cost-basis", json={"provider": f"{tenant}-seller", "basis": "reported"}),
        client.post(f"/v1/usage/events/{tenant}-void/void", json={"reason": f"{tenant}-reason"}),
        client.put(f"/v1/plans/{tenant}-plan", json={"display_name": f"{tenant}-plan-name"}),
        client.put(f"/v1/subscriptions/{tenant}-subscription", json=subscription(tenant)),
        client.post("/v1/curves", json=curve(tenant)),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 200]


BY_OWNER = (
    "INSERT INTO fx_rates (tenant, rate_date, currency, per_eur, source, source_version) "
    "VALUES (:tenant, '2026-07-01', 'USD', '1.25', :tenant, :tenant)",
    "INSERT INTO cost_basis_rules (tenant, provider, surface, basis) VALUES (:tenant, :tenant || '-provider', '', 'reported')",
    "INSERT INTO settlement_runs (tenant, run_id, started_at) VALUES (:tenant, :tenant || '-run', now())",
    "INSERT INTO purpose_policies (tenant, purpose, effective_from, statement_line) "
    "VALUES (:tenant, 'eval', '2026-01-01', 'internal')",
    "INSERT INTO tariffs (sku_price_id, tenant, seller, model, service_tier, above_input_tokens, operator, currency, source, "
    "source_version, hash) VALUES (length(:tenant), :tenant, :tenant || '-seller', :tenant || '-model', 'default', 0, '>', "
    "'USD', :tenant || '-contract', '1', 'x')",
    "INSERT INTO tariff_prices (sku_price_id, tenant, token_class, unit_price, per) "
    "VALUES (length(:tenant), :tenant, 'output', 1, 1000000)",
    "INSERT INTO tariff_aliases (tenant, seller, alias, model_seller, model, source, list_source) "
    "VALUES (:tenant, :tenant || '-seller', :tenant || '-alias', :tenant || '-seller', :tenant || '-model', 'contract', 'hand')",
    "INSERT INTO price_imports (tenant, list_source, source_version, file_hash, counts, findings, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-source', '1', 'x', '{}', '{}', :tenant || '-actor', now())",
    "INSERT INTO tariff_records (tenant, sku_price_id, list_source, state, source, source_version, recorded_at) "
    "VALUES (:tenant, length(:tenant), 'hand', 'withdrawn', :tenant || '-contract', '1', now())",
    "INSERT INTO price_disagreements (tenant, sku_price_id, list_source, unit_price, other_sku_price_id, other_source, "
    "other_unit_price, token_class, recorded_at) "
    "VALUES (:tenant, length(:tenant), :tenant || '-source', 1, length(:tenant), 'hand', 2, 'output', now())",
    "INSERT INTO contracts (tenant, contract_id, state, content, hash, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-contract', 'withdrawn', '{}', 'x', :tenant || '-actor', now())",
    "INSERT INTO contract_standings (tenant, contract_id, until, basis, used) "
    "VALUES (:tenant, :tenant || '-contract', now(), 'x', '{}')",
    "INSERT INTO ledger_changes (tenant, since) VALUES (:tenant, now())",
    "INSERT INTO audit_log (tenant, at, actor, action, subject) "
    "VALUES (:tenant, now(), :tenant || '-actor', 'prices.add', :tenant || '-row')",
    "INSERT INTO alert_hooks (tenant, url, created_by) VALUES (:tenant, 'http://127.0.0.1:9/' || :tenant, :tenant || '-actor')",
    "INSERT INTO alerted_models (tenant, seller, model) VALUES (:tenant, :tenant || '-seller', :tenant || '-model')",
)
REVENUE_BY_OWNER = (
    "INSERT INTO plan_prices (tenant, plan, interval_months, effective_from, price, billing_currency) "
    "VALUES (:tenant, :tenant || '-plan', 1, '2026-01-01', 20, 'USD')",
    "INSERT INTO subscription_terms (tenant, subscription_id, term_id, kind, starts_on) "
    "VALUES (:tenant, :tenant || '-subscription', :tenant || '-term', 'pause', '2026-07-10')",
    "INSERT INTO revenue_lines (tenant, line_id, source, kind, amount, billing_currency, booked_at, recognition, line_hash) "
    "VALUES (:tenant, :tenant || '-line', 'csv', 'one_off', 1, 'USD', now(), 'day', 'x')",
    "INSERT INTO revenue_customers (tenant, customer_id, user_id) VALUES (:tenant, :tenant || '-customer', :tenant || '-user')",
    "INSERT INTO logins (tenant, issuer, subject, scope) VALUES (:tenant, 'https://accounts.example.com', :tenant || '-subject', 'viewer')",
    "INSERT INTO account_revenue_rules (tenant, effective_from, rule) VALUES (:tenant, '2026-01-01', 'account')",
    "INSERT INTO closed_months (tenant, month, closed_by, totals, coverage) VALUES (:tenant, '2020-01-01', 'x', '{}', '{}')",
)
POOLS_BY_OWNER = (
    "INSERT INTO pools (tenant, pool_id, state, effective_from, role, model, curve_id, gpu, gpus_per_replica, scheduler_order, "
    "token_budget, max_batch, admission, policy, outside_range, prefix_policy, billing_currency, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-pool', 'stated', '2026-07-01', 'mixed', 'm', :tenant || '-curve', 'H200', 1, 'decode_first', "
    "8192, 256, 'prompt', 'switch', 'flag', 'first_pays', 'USD', 'x', now())",
    "INSERT INTO pool_replicas (tenant, pool_id, replica, state, effective_from, rate_id, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-pool', 'r0', 'stated', '2026-07-01', :tenant || '-rate', 'x', now())",
    "INSERT INTO gpu_rates (tenant, rate_id, state, effective_from, kind, gpu, billing_currency, terms, source, created_by, "
    "recorded_at) VALUES (:tenant, :tenant || '-rate', 'stated', '2026-07-01', 'on_demand', 'H200', 'USD', "
    "'{\"price_per_hour\": \"3\", \"gpus\": 1}', :tenant || '-source', 'x', now())",
    "INSERT INTO pool_bills (tenant, pool_id, hour, amount, billing_currency, gpu_hours, source, parts, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-pool', '2026-07-01 00:00:00+00', 3, 'USD', 1, 'schedule', '[]', 'x', now())",
    "INSERT INTO pool_hours (tenant, pool_id, hour, settlement, bill, billing_currency, direct, gap, idle, unallocated_gap, "
    "unallocated_idle, unproven, capacity_us, in_flight_us, idle_us, unproven_us, requests, charged, unpriced, estimated, "
    "extrapolated, curve_id, policy, fluid, inputs_hash) VALUES (:tenant, :tenant || '-pool', '2026-07-01 00:00:00+00', 1, 3, 'USD', 0, "
    "0, 3, 0, 3, 0, 3600000000, 0, 3600000000, 0, 0, 0, 0, 0, 0, :tenant || '-curve', 'switch', false, 'x')",
    "INSERT INTO pool_steps (tenant, pool_id, replica, hour, ledger_hash, state, source_id, starts_at, ends_at, steps, requests, "
    "measured_ns, created_by, recorded_at, step_columns, part_columns) VALUES (:tenant, :tenant || '-pool', 'r0', "
    "'2026-07-01 00:00:00+00', 'x', 'stated', 'x', '2026-07-01 00:00:00+00', '2026-07-01 00:00:00+00', 0, 0, 0, 'x', now(), 'x', 'x')",
    "INSERT INTO unused_gpu_hours (tenant, rate_id, hour, amount, billing_currency, source, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-rate', '2026-07-01 00:00:00+00', 3, 'USD', 'schedule', 'x', now())",
)
BOUNDS = """
    SELECT inhrelid::regclass::text AS name, pg_get_expr(relpartbound, inhrelid) AS bounds
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'usage_events'::regclass
"""


def _fill_by_owner(connection: Connection, tenant: str) -> None:
    """Rows that no endpoint writes, and one event in every partition."""
    for statement in (*BY_OWNER, *REVENUE_BY_OWNER, *POOLS_BY_OWNER):
        connection.execute(text(statement), {"tenant": tenant})
    columns = [row.name for row in connection.execute(text(COLUMNS), {"table": "usage_events"})]
    kept = ", ".join(f"{{{name}}}" if name in ("event_id", "occurred_at") else name for name in columns)
    for partition in connection.execute(text(BOUNDS)).all():
        # FOR VALUES FROM ('2026-07-01 00:00:00+00') TO (...), or DEFAULT, which takes what is far ahead.
        moment = "2099-01-01" if partition.bounds == "DEFAULT" else partition.bounds.split("'")[1]
        values = kept.format(event_id=f"'{tenant}-{partition.name}'", occurred_at=f"'{moment}'")
        connection.execute(
            text(
                f"INSERT INTO usage_events ({', '.join(columns)}) SELECT {values} FROM usage_events "
                f"WHERE event_id = '{tenant}-priced'"
            )
        )


COLUMNS = """
    SELECT attname AS name FROM pg_attribute
    WHERE attrelid = CAST(:table AS regclass) AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attgenerated = ''
    ORDER BY attnum
"""


@pytest.fixture
def as_a(world: World) -> Iterator[Connection]:
    """The application's login with tenant A set, in a transaction that is rolled back."""
    with world.database.app.connect() as connection:
        connection.execute(text("SELECT set_config('tokencogs.tenant', :tenant, true)"), {"tenant": A})
        yield connection
        connection.rollback()


def _attempt(connection: Connection, statement: str) -> list[Any] | None:
    """Rows of a statement, None where it is denied; the transaction goes on either way."""
    nested = connection.begin_nested()
    try:
        result = connection.execute(text(statement))
        rows = list(result) if result.returns_rows else [(result.rowcount,)]
    except ProgrammingError as error:
        nested.rollback()
        if getattr(error.orig, "sqlstate", None) != DENIED:
            raise
        return None
    nested.rollback()
    return rows


def _everything(world: World) -> dict[str, list[str]]:
    """Every row of B as text, by table."""
    with world.superuser.connect() as connection:
        names = [row.name for row in _relations(connection) if row.has_tenant and row.kind in ("r", "v")]
        rows = {name: connection.execute(text(f"SELECT t::text FROM {name} t WHERE tenant = '{B}'")) for name in names}
        return {name: sorted(found.scalars()) for name, found in rows.items()}


def test_every_relation_is_protected(world: World) -> None:
    with world.superuser.connect() as connection:
        assert _unprotected(connection) == []


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
        assert _unprotected(connection) == [name]
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
        for row in _relations(connection):
            if row.name not in NO_ROWS_OF_TENANTS:
                there = set(connection.execute(text(f"SELECT DISTINCT tenant FROM {row.name}")).scalars())
                assert {A, B} <= there, row.name


def test_a_tenant_reads_no_row_of_another(as_a: Connection) -> None:
    own = set()
    for row in _relations(as_a):
        seen = _attempt(as_a, f"SELECT t::text FROM {row.name} t")
        if seen is not None and row.name not in NO_ROWS_OF_TENANTS:
            assert B not in str(seen), row.name
            assert A in str(seen), row.name
            own.add(row.name)
    assert {"usage_events", "charges", "ledger", "rollup_15m", "rollup_user_day", "api_keys", "tariffs"} <= own


def test_without_a_tenant_no_row_of_any_is_seen(world: World) -> None:
    with world.database.app.connect() as connection:
        for row in _relations(connection):
            if row.name not in NO_ROWS_OF_TENANTS:
                seen = _attempt(connection, f"SELECT count(*) FROM {row.name} WHERE tenant IS NOT NULL")
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
    for row in _relations(as_a):
        if row.kind not in ("r", "p") or not row.has_tenant:
            continue
        columns = [column.name for column in as_a.execute(text(COLUMNS), {"table": row.name})]
        values = ", ".join(f"'{B}'" if name == "tenant" else name for name in columns)
        insert = f"INSERT INTO {row.name} ({', '.join(columns)}) SELECT {values} FROM {row.name} WHERE tenant = '{A}'"
        assert _attempt(as_a, insert) is None, row.name
        assert _attempt(as_a, f"UPDATE {row.name} SET tenant = '{B}' WHERE tenant = '{A}'") is None, row.name
        assert _attempt(as_a, f"UPDATE {row.name} SET tenant = tenant WHERE tenant = '{B}'") in (None, [(0,)]), row.name
        assert _attempt(as_a, f"DELETE FROM {row.name} WHERE tenant = '{B}'") in (None, [(0,)]), row.name
        assert _attempt(as_a, f"TRUNCATE {row.name}") is None, row.name


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
    assert _attempt(as_a, statement) == [(own,)]


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
