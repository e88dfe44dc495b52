"""Two tenants with rows everywhere, a server, and what the database says of its relations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import ProgrammingError

from accounting.storage.engine import transaction
from tests.accounting.storage.isolation_rows import fill_by_api, fill_by_owner
from tests.api.serving import Running, make_keys, running
from tests.conftest import Database

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


def relations(connection: Connection) -> list[Any]:
    """Every table, partition and view, with how it is protected."""
    return list(connection.execute(text(RELATIONS)))


def unprotected(connection: Connection) -> list[str]:
    """Relations that could show one tenant's rows to another."""
    found = []
    for row in relations(connection):
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
                fill_by_api(client, tenant)
            with transaction(database.owner, tenant) as connection:
                fill_by_owner(connection, tenant)
        yield World(database, server, keys, superuser)
    superuser.dispose()


@pytest.fixture
def as_a(world: World) -> Iterator[Connection]:
    """The application's login with tenant A set, in a transaction that is rolled back."""
    with world.database.app.connect() as connection:
        connection.execute(text("SELECT set_config('tokencogs.tenant', :tenant, true)"), {"tenant": A})
        yield connection
        connection.rollback()


def attempt(connection: Connection, statement: str) -> list[Any] | None:
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
