"""Settled pool hours: what each one's bill became, and what a self-hosted charge was worked out from."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("settled hours and the derivations of their charges could not be kept")
