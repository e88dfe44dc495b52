"""Indexes of what no list prices."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0006"
down_revision = "0005"

_SQL = Path(__file__).with_name("0006_unlisted.sql")


def upgrade() -> None:
    # Straight to the driver: without parameters it takes several statements and leaves '%' alone.
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(_SQL.read_text(encoding="utf-8"))


def downgrade() -> None:
    op.execute("DROP INDEX usage_events_unlisted")
    op.execute("DROP INDEX charges_unlisted")
