"""What contracts add to the ledger: the list price row beside the contracted one, categories in the rollups."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"

_SQL = Path(__file__).with_name("0003_contracts.sql")


def upgrade() -> None:
    # Straight to the driver: without parameters it takes several statements and leaves '%' alone.
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(_SQL.read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("prices and charges recorded since could not be kept")
