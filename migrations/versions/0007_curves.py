"""Measured curves: shared ones and those of a tenant."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"

_SQL = Path(__file__).with_name("0007_curves.sql")


def upgrade() -> None:
    # Straight to the driver: without parameters it takes several statements and leaves '%' alone.
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(_SQL.read_text(encoding="utf-8"))


def downgrade() -> None:
    raise NotImplementedError("curves that charges name could not be kept")
