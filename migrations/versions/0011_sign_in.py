"""Keys made over HTTP, and people who sign in at an identity provider."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("people who sign in at an identity provider could not be kept")
