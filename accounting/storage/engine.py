"""How does code reach the database? Two logins, one transaction a unit of work, the tenant set in each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import OperationalError, TimeoutError

from accounting.errors import ConfigurationError, StorageUnavailable
from accounting.storage import embedded

NO_TENANT = ""
"""Sees the rows that belong to no tenant, and nothing else."""
SET_TENANT = text("SELECT set_config('tokencogs.tenant', :tenant, true)")


def app_url() -> str:
    """URL of the application's login: `DATABASE_URL`, else the embedded server (which is started or joined)."""
    return _normal(os.environ["DATABASE_URL"]) if os.environ.get("DATABASE_URL") else embedded.attach().app_url


def owner_url() -> str:
    """URL of the owner's login: `TOKENCOGS_OWNER_URL`; with neither that nor `DATABASE_URL`, the embedded server's owner.

    Raises ConfigurationError where `DATABASE_URL` is set and the owner's URL is not: the application's login can't migrate.
    """
    if os.environ.get("TOKENCOGS_OWNER_URL"):
        return _normal(os.environ["TOKENCOGS_OWNER_URL"])
    if os.environ.get("DATABASE_URL"):
        raise ConfigurationError(
            "TOKENCOGS_OWNER_URL is not set: DATABASE_URL is the application's login, and this act (migrations, tenants, "
            "keys, partitions) needs the owner's"
        )
    return embedded.attach().owner_url


def has_owner() -> bool:
    """Whether the owner's login is known to this process."""
    return bool(os.environ.get("TOKENCOGS_OWNER_URL")) or not os.environ.get("DATABASE_URL")


def _normal(url: str) -> str:
    """libpq and Heroku spellings of a URL, brought to the one SQLAlchemy's psycopg driver takes."""
    for prefix in ("postgres://", "postgresql://"):
        if url.startswith(prefix):
            return "postgresql+psycopg://" + url.removeprefix(prefix)
    return url


@lru_cache(maxsize=8)
def engine_for(url: str, pool_size: int = 8) -> Engine:
    """One pooled engine for each URL and process. Sessions run in UTC."""
    engine = create_engine(url, pool_size=pool_size, max_overflow=pool_size, pool_pre_ping=True)

    @event.listens_for(engine, "connect")
    def _utc(connection, _record) -> None:  # type: ignore[no-untyped-def]
        with connection.cursor() as cursor:
            cursor.execute("SET TIME ZONE 'UTC'")
        connection.commit()

    return engine


def app_engine() -> Engine:
    """Engine of the application's login; refuses a login for which row-level security would not hold."""
    engine = engine_for(app_url())
    _refuse_privileged(engine)
    return engine


def owner_engine() -> Engine:
    """Engine of the owner's login."""
    return engine_for(owner_url())


_CHECKED: set[str] = set()


def _refuse_privileged(engine: Engine) -> None:
    key = str(engine.url)
    if key in _CHECKED:
        return
    query = text(
        "SELECT current_user, rolsuper OR rolbypassrls, EXISTS (SELECT FROM pg_class WHERE relowner = r.oid AND relname = 'usage_events') "
        "FROM pg_roles r WHERE rolname = current_user"
    )
    with reaching(), engine.connect() as connection:
        user, privileged, owns = connection.execute(query).one()
    if privileged or owns:
        raise ConfigurationError(
            f"DATABASE_URL connects as {user!r}, which is {'a superuser' if privileged else 'the owner of the tables'}: row-level "
            "security would not hold. Use a login that is a member of tokencogs_app; `tokencogs db upgrade` makes one"
        )
    _CHECKED.add(key)


@contextmanager
def reaching() -> Iterator[None]:
    """Turns a lost or refused connection into StorageUnavailable."""
    try:
        yield
    except OperationalError as error:
        raise StorageUnavailable(f"the database can't be reached: {error.orig}") from error
    except psycopg.OperationalError as error:
        raise StorageUnavailable(f"the database can't be reached: {error}") from error
    except TimeoutError as error:
        raise StorageUnavailable("every connection of this process is in use; try again") from error


@contextmanager
def driver_connection(engine: Engine) -> Iterator[psycopg.Connection[Any]]:
    """A pooled connection as the driver's own, for COPY. What the block did not commit is rolled back.

    A connection that broke is dropped from the pool; that raises StorageUnavailable.
    """
    with reaching():
        pooled = engine.raw_connection()
    try:
        driver = pooled.driver_connection
        assert isinstance(driver, psycopg.Connection)
        yield driver
    except psycopg.OperationalError as error:
        if isinstance(error, (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)):
            raise
        pooled.invalidate()
        raise StorageUnavailable(f"the database went away: {error}") from error
    finally:
        pooled.close()


@contextmanager
def transaction(engine: Engine, tenant: str) -> Iterator[Connection]:
    """One transaction with the tenant set; commits at the end of the block, rolls back on any error."""
    with reaching(), engine.begin() as connection:
        connection.execute(SET_TENANT, {"tenant": tenant})
        yield connection


@contextmanager
def scanning(connection: Connection) -> Iterator[None]:
    """For statements that read every event of a period: tables are joined by hash or by merge within the block.

    Nothing analyses a partitioned table by itself, so the planner takes a month's events for a handful and compares each with each.
    """
    connection.execute(text("SET LOCAL enable_nestloop = off"))
    yield
    connection.execute(text("SET LOCAL enable_nestloop TO DEFAULT"))


@contextmanager
def read_only(engine: Engine, tenant: str) -> Iterator[Connection]:
    """One repeatable-read, read-only transaction with the tenant set: all figures of a report are of one moment."""
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with reaching(), engine.connect().execution_options(**options) as connection, connection.begin():
        connection.execute(SET_TENANT, {"tenant": tenant})
        yield connection
