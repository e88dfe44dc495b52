"""How does a database get its schema? Alembic up to the newest revision, the application's login, and partitions made ahead."""

from __future__ import annotations

import os
from datetime import date
from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import Connection, Engine, text
from sqlalchemy.engine import make_url

from accounting.storage.engine import owner_engine, reaching

MONTHS_BACK = 24
MONTHS_AHEAD = 12


def config() -> Config:
    """Alembic's configuration, found beside the installed migrations."""
    return Config(str(files("migrations") / "alembic.ini"))


def upgrade(engine: Engine | None = None, today: date | None = None) -> str:
    """Migrates to head and makes the partitions around today; returns the revision reached. Safe to run at any time."""
    engine = engine or owner_engine()
    with reaching(), engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tokencogs.migrate'))"))
        settings = config()
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")
        _application_login(connection)
        make_partitions(connection, today or date.today())
    return current(engine) or ""


def current(engine: Engine) -> str | None:
    """Revision of the database, None where it has no schema."""
    with reaching(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str | None:
    """Newest revision of the code."""
    return ScriptDirectory.from_config(config()).get_current_head()


def make_partitions(connection: Connection, today: date, back: int = MONTHS_BACK, ahead: int = MONTHS_AHEAD) -> int:
    """Makes the monthly partitions from `back` months before today to `ahead` months after; returns how many were new."""
    first = today.year * 12 + today.month - 1 - back
    months = [date(number // 12, number % 12 + 1, 1) for number in range(first, first + back + ahead + 1)]
    make = text("SELECT tokencogs_make_partition(:month)")
    return sum(bool(connection.execute(make, {"month": month}).scalar_one()) for month in months)


def _application_login(connection: Connection) -> None:
    """Makes the login named in DATABASE_URL a member of tokencogs_app, and makes it where it is missing."""
    if not os.environ.get("DATABASE_URL"):
        return
    url = make_url(os.environ["DATABASE_URL"])
    if not url.username or url.username == connection.engine.url.username:
        return
    quote = connection.dialect.identifier_preparer.quote
    known = connection.execute(text("SELECT FROM pg_roles WHERE rolname = :name"), {"name": url.username}).first()
    if known is None:
        clause = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
            sql.Identifier(url.username), sql.Literal(url.password or None)
        )
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.execute(clause)
    member = text("SELECT pg_has_role(CAST(:name AS name), 'tokencogs_app', 'MEMBER')")
    if not connection.execute(member, {"name": url.username}).scalar_one():
        connection.exec_driver_sql(f"GRANT tokencogs_app TO {quote(url.username)}")
