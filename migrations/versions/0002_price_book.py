"""Statements about price rows in two times, contracts, imports, disagreements and the audit log."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"

_SQL = Path(__file__).with_name("0002_price_book.sql")


def upgrade() -> None:
    # Straight to the driver: without parameters it takes several statements and leaves '%' alone.
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(_SQL.read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("prices and charges recorded since could not be kept")
