"""What a settled pool hour's log was, so that a settlement reads the logs of changed hours alone."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0016"
down_revision = "0014"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("a settlement of an earlier version would not say what an hour's log was")
