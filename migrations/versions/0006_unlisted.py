"""Indexes of what no list prices."""

from __future__ import annotations

from alembic import op

from migrations.run_sql import run_sql

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    op.execute("DROP INDEX usage_events_unlisted")
    op.execute("DROP INDEX charges_unlisted")
