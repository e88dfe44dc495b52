"""Plans with dated prices, terms of subscriptions, invoice lines."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"

_SQL = Path(__file__).with_name("0005_revenue.sql")


def upgrade() -> None:
    # Straight to the driver: without parameters it takes several statements and leaves '%' alone.
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(_SQL.read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("invoice lines recorded since could not be kept")
