"""What contracts add to the ledger: the list price row beside the contracted one, categories in the rollups."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("prices and charges recorded since could not be kept")
