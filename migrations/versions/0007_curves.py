"""Measured curves: shared ones and those of a tenant."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("curves that charges name could not be kept")
