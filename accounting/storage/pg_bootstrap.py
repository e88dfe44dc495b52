"""Which roles and which database does a new cluster need before migrations can run?"""

from __future__ import annotations

import psycopg
from psycopg import sql

OWNER = "tokencogs_owner"
APP = "tokencogs"
APP_ROLE = "tokencogs_app"
DATABASE = "tokencogs"

# name: (can log in, may create roles). None is a superuser and none passes by row-level security.
_ROLES = {OWNER: (True, True), APP_ROLE: (False, False), APP: (True, False)}
_FIRST_WITH_GRANT_OPTIONS = 160_000


def prepare(superuser_url: str) -> None:
    """Create what is missing and put right what differs; changes nothing when all is there.

    Not safe to run twice at once. Raises psycopg.OperationalError when the server goes away.
    """
    with psycopg.connect(superuser_url, autocommit=True, connect_timeout=10) as connection:
        for name, attributes in _ROLES.items():
            _ensure_role(connection, name, *attributes)
        _ensure_memberships(connection)
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if known is None:
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'").format(
                    sql.Identifier(DATABASE), sql.Identifier(OWNER)
                )
            )


def _ensure_role(connection: psycopg.Connection, name: str, login: bool, createrole: bool) -> None:
    found = connection.execute(
        "SELECT rolcanlogin, rolcreaterole, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = %s", [name]
    ).fetchone()
    if found == (login, createrole, False, False):
        return
    connection.execute(
        sql.SQL("{} ROLE {} {} {} NOSUPERUSER NOBYPASSRLS").format(
            sql.SQL("CREATE" if found is None else "ALTER"),
            sql.Identifier(name),
            sql.SQL("LOGIN" if login else "NOLOGIN"),
            sql.SQL("CREATEROLE" if createrole else "NOCREATEROLE"),
        )
    )


def _ensure_memberships(connection: psycopg.Connection) -> None:
    if not _is_granted(connection, APP):
        connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(APP_ROLE), sql.Identifier(APP)))
    # On 15, CREATEROLE alone lets the owner admit further application logins; since 16 it takes this option. Without
    # INHERIT the owner does not fall under the application's row-level policies.
    if connection.info.server_version >= _FIRST_WITH_GRANT_OPTIONS and not _is_granted(connection, OWNER):
        connection.execute(
            sql.SQL("GRANT {} TO {} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE").format(
                sql.Identifier(APP_ROLE), sql.Identifier(OWNER)
            )
        )


def _is_granted(connection: psycopg.Connection, member: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pg_auth_members WHERE roleid = %s::regrole AND member = %s::regrole", [APP_ROLE, member]
    ).fetchone()
    return found is not None
