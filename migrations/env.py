"""How does Alembic reach the database? Through the owner's connection that the caller hands over, or the owner URL."""

from __future__ import annotations

from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.engine import Connection

from accounting.storage.engine import owner_url
from accounting.storage.tables import metadata


def _run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


def _main() -> None:
    connection = context.config.attributes.get("connection")
    if connection is not None:
        _run(connection)
        return
    with create_engine(owner_url()).connect() as fresh:
        _run(fresh)


_main()
