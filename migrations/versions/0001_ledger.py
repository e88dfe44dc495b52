"""The first schema: tenants, usage events with their first charge, charges, the ledger view, rollups, tariffs, plans."""

from __future__ import annotations

from alembic import op

from migrations.run_sql import run_sql

revision = "0001"
down_revision = None


TABLES = (
    "settlement_runs",
    "cost_basis_rules",
    "exceptions",
    "purpose_policies",
    "subscriptions",
    "plans",
    "tariff_prices",
    "tariff_aliases",
    "tariffs",
    "rollup_user_day",
    "rollup_day",
    "rollup_15m",
    "charges",
    "raw_usage",
    "usage_events",
    "event_ids",
    "api_keys",
    "tenants",
)


def upgrade() -> None:
    run_sql(__file__)


def downgrade() -> None:
    op.execute("DROP VIEW ledger")
    for table in TABLES:
        op.execute(f"DROP TABLE {table} CASCADE")
    op.execute("DROP FUNCTION tokencogs_protect(regclass, text)")
    op.execute("DROP FUNCTION tokencogs_make_partition(date)")
