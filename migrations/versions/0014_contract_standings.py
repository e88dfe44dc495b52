"""Where contracts stand, so that a settlement begins where something changed."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("a settlement of an earlier version would not say what changed meanwhile")
