"""Months whose books are closed."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("what closed months held could not be kept")
