"""Dated exchange rates."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("prices and charges recorded since could not be kept")
