"""Pools of replicas, what their GPU-hours cost, and their bills by hour."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("bills that charges rest on could not be kept")
