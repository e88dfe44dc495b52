"""What are the lines of the ledger and their sums?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Date, Integer, SmallInteger, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from accounting.storage.tables.columns import MOMENT, MONEY, key, may, measures, metadata, must, views

charges = Table(
    "charges",
    metadata,
    key("tenant"),
    key("charge_id"),
    must("subject_kind"),
    must("subject_id"),
    may("subject_revision", SmallInteger),
    must("charge_period_start", MOMENT),
    must("booking_period", Date),
    must("category"),
    may("class"),
    may("supersedes"),
    must("charge_status"),
    must("seller"),
    must("model"),
    must("purpose"),
    may("account_id"),
    may("user_id"),
    may("feature"),
    may("deployment"),
    *measures(MONEY, nullable=True),
    must("billing_currency"),
    must("basis"),
    may("policy"),
    may("quality"),
    may("sku_price_id", BigInteger),
    may("run_id"),
    may("reason"),
    must("created_at", MOMENT),
    may("list_sku_price_id", BigInteger),
    may("direct_cost", MONEY),
    may("fully_loaded_cost", MONEY),
    may("details", JSONB(none_as_null=True)),
)

_NOT_IN_LEDGER = ("created_at", "direct_cost", "fully_loaded_cost", "details")
ledger = Table(
    "ledger",
    views,
    *[Column(column.name, column.type) for column in charges.columns if column.name not in _NOT_IN_LEDGER],
    Column("occurred_at", MOMENT),
)
"""The view over first charges and `charges`; every figure is a sum of its lines."""


def _rollup(name: str) -> Table:
    """A rollup by bucket: 15 minutes, or a reporting day."""
    return Table(
        name,
        metadata,
        key("tenant"),
        key("bucket", MOMENT),
        key("booking_period", Date),
        key("seller"),
        key("model"),
        key("purpose"),
        key("charge_status"),
        key("billing_currency"),
        *measures(MONEY, nullable=False),
        key("category"),
    )


rollup_15m = _rollup("rollup_15m")
rollup_day = _rollup("rollup_day")

rollup_user_day = Table(
    "rollup_user_day",
    metadata,
    key("tenant"),
    key("day", Date),
    key("user_id"),
    key("account_id"),
    key("booking_period", Date),
    key("purpose"),
    key("charge_status"),
    key("billing_currency"),
    *measures(MONEY, nullable=False),
    key("category"),
)

settlement_runs = Table(
    "settlement_runs",
    metadata,
    key("tenant"),
    key("run_id"),
    must("started_at", MOMENT),
    may("finished_at", MOMENT),
    must("subjects", Integer),
    must("charges", Integer),
)

ledger_changes = Table("ledger_changes", metadata, key("tenant"), key("change_id", BigInteger), must("since", MOMENT))

contract_standings = Table(
    "contract_standings",
    metadata,
    key("tenant"),
    key("contract_id"),
    key("until", MOMENT),
    must("basis"),
    must("used", JSONB),
)

closed_months = Table(
    "closed_months",
    metadata,
    key("tenant"),
    key("month", Date),
    must("closed_at", MOMENT),
    must("closed_by"),
    must("totals", JSONB),
    must("coverage", JSONB),
    must("accepted", ARRAY(Text)),
    must("note"),
)
