"""Rules of margins: where account revenue goes, what a purpose counts as; where tools were used."""

from __future__ import annotations

from migrations.run_sql import run_sql

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    raise NotImplementedError("rules that reports were made by could not be kept")
