"""Step ledgers of replicas, and what they add to a settled pool hour."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("recorded steps could not be kept")
