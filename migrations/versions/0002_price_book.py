"""Statements about price rows in two times, contracts, imports, disagreements and the audit log."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("prices and charges recorded since could not be kept")
