"""Plans with dated prices, terms of subscriptions, invoice lines."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("invoice lines recorded since could not be kept")
