"""What tables are there? The shapes queries are written against; the migrations make them, a test holds the two together."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    SmallInteger,
    Table,
    Text,
    Time,
)
from sqlalchemy.dialects.postgresql import JSONB

from accounting.usage.classes import USAGE_COLUMNS

metadata = MetaData()
MONEY = Numeric(38, 18)
MOMENT = DateTime(timezone=True)


def _key(name: str, kind: Any = Text) -> Column[Any]:
    return Column(name, kind, primary_key=True)


def _must(name: str, kind: Any = Text) -> Column[Any]:
    return Column(name, kind, nullable=False)


def _may(name: str, kind: Any = Text) -> Column[Any]:
    return Column(name, kind, nullable=True)


def _measures(kind: Any, nullable: bool) -> list[Column[Any]]:
    """The sums every ledger line and rollup row carries: signed counts, then FOCUS's four costs."""
    counts = ("events", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    costs = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
    return [_must(name, BigInteger) for name in counts] + [Column(name, kind, nullable=nullable) for name in costs]


tenants = Table(
    "tenants",
    metadata,
    _key("tenant"),
    _must("display_name"),
    _must("reporting_tz"),
    _must("billing_currency"),
    _may("raw_usage_days", Integer),
    _may("identity_days", Integer),
    _must("created_at", MOMENT),
)

api_keys = Table(
    "api_keys",
    metadata,
    _key("tenant"),
    _key("key_id"),
    _must("scope"),
    _must("secret_hash", LargeBinary),
    _must("label"),
    _must("created_at", MOMENT),
    _may("revoked_at", MOMENT),
)

logins = Table(
    "logins",
    metadata,
    _key("tenant"),
    _key("issuer"),
    _key("subject"),
    _must("scope"),
    _must("label"),
    _must("created_at", MOMENT),
)

event_ids = Table(
    "event_ids",
    metadata,
    _key("tenant"),
    _key("event_id"),
    _must("occurred_at", MOMENT),
    _must("body_hash", LargeBinary),
)

raw_usage = Table(
    "raw_usage",
    metadata,
    _key("tenant"),
    _key("raw_batch", BigInteger),
    _must("received_at", MOMENT),
    _must("format"),
    _must("codec"),
    _must("events", Integer),
    _must("body", LargeBinary),
)

usage_events = Table(
    "usage_events",
    metadata,
    _must("tenant"),
    _must("event_id"),
    _must("revision", SmallInteger),
    _must("occurred_at", MOMENT),
    _must("received_at", MOMENT),
    _must("booking_period", Date),
    _may("response_id"),
    _may("retry_of"),
    _may("queue_ms", Double),
    _may("prefill_started_at", MOMENT),
    _may("first_token_at", MOMENT),
    _may("completed_at", MOMENT),
    _must("provider"),
    _may("surface"),
    _must("model"),
    _may("response_model"),
    _may("deployment"),
    _may("replica"),
    _may("prefill_deployment"),
    _may("prefill_replica"),
    _may("accepted_steps", Integer),
    _may("preemptions", Integer),
    _may("reasoning_effort"),
    _may("score", Double),
    _may("region"),
    _may("service_tier"),
    _may("requested_service_tier"),
    _may("reported_cost_usd", MONEY),
    _must("batch", Boolean),
    _must("status"),
    _must("purpose"),
    _may("account_id"),
    _may("user_id"),
    _may("feature"),
    _may("task_id"),
    _may("trace_id"),
    _may("tags", JSONB),
    _may("context_tokens", Integer),
    _must("usage_known", Boolean),
    _must("cache_read_known", Boolean),
    *[_must(name, Integer) for name in USAGE_COLUMNS],
    _must("body_hash", LargeBinary),
    _must("wire_format"),
    _may("raw_batch", BigInteger),
    _may("raw_index", Integer),
    _must("basis"),
    _must("seller"),
    _must("charge_status"),
    _may("reason"),
    _may("sku_price_id", BigInteger),
    _may("list_cost_e15", BigInteger),
    _may("contracted_cost_e15", BigInteger),
    _must("billing_currency"),
    _may("list_sku_price_id", BigInteger),
)

charges = Table(
    "charges",
    metadata,
    _key("tenant"),
    _key("charge_id"),
    _must("subject_kind"),
    _must("subject_id"),
    _may("subject_revision", SmallInteger),
    _must("charge_period_start", MOMENT),
    _must("booking_period", Date),
    _must("category"),
    _may("class"),
    _may("supersedes"),
    _must("charge_status"),
    _must("seller"),
    _must("model"),
    _must("purpose"),
    _may("account_id"),
    _may("user_id"),
    _may("feature"),
    _may("deployment"),
    *_measures(MONEY, nullable=True),
    _must("billing_currency"),
    _must("basis"),
    _may("policy"),
    _may("quality"),
    _may("sku_price_id", BigInteger),
    _may("run_id"),
    _may("reason"),
    _must("created_at", MOMENT),
    _may("list_sku_price_id", BigInteger),
    _may("direct_cost", MONEY),
    _may("fully_loaded_cost", MONEY),
    _may("details", JSONB(none_as_null=True)),
)

views = MetaData()
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
        _key("tenant"),
        _key("bucket", MOMENT),
        _key("booking_period", Date),
        _key("seller"),
        _key("model"),
        _key("purpose"),
        _key("charge_status"),
        _key("billing_currency"),
        *_measures(MONEY, nullable=False),
        _key("category"),
    )


rollup_15m = _rollup("rollup_15m")
rollup_day = _rollup("rollup_day")

rollup_user_day = Table(
    "rollup_user_day",
    metadata,
    _key("tenant"),
    _key("day", Date),
    _key("user_id"),
    _key("account_id"),
    _key("booking_period", Date),
    _key("purpose"),
    _key("charge_status"),
    _key("billing_currency"),
    *_measures(MONEY, nullable=False),
    _key("category"),
)

tariffs = Table(
    "tariffs",
    metadata,
    _key("sku_price_id", BigInteger),
    _may("tenant"),
    _must("seller"),
    _may("surface"),
    _must("model"),
    _must("service_tier"),
    _must("above_input_tokens", BigInteger),
    _must("operator"),
    _may("window_start", Time),
    _may("window_end", Time),
    _may("effective_from", MOMENT),
    _may("effective_until", MOMENT),
    _must("currency"),
    _must("source"),
    _must("source_version"),
    _may("checked_on", Date),
    _must("hash"),
    _must("recorded_at", MOMENT),
    _may("region"),
    _must("decided_by"),
    _may("derived_from", BigInteger),
)

tariff_prices = Table(
    "tariff_prices",
    metadata,
    _key("sku_price_id", BigInteger),
    _may("tenant"),
    _key("token_class"),
    _must("unit_price", MONEY),
    _must("per", Integer),
    _may("fallback"),
    _may("price_text"),
)

tariff_aliases = Table(
    "tariff_aliases",
    metadata,
    _may("tenant"),
    _must("seller"),
    _must("alias"),
    _must("model_seller"),
    _must("model"),
    _must("source"),
    _may("checked_on", Date),
    _key("alias_id", BigInteger),
    _must("list_source"),
    _may("created_by"),
    _must("recorded_at", MOMENT),
    _may("recorded_until", MOMENT),
)

price_imports = Table(
    "price_imports",
    metadata,
    _key("import_id", BigInteger),
    _may("tenant"),
    _must("list_source"),
    _must("source_version"),
    _may("as_of", Date),
    _must("file_hash"),
    _must("counts", JSONB),
    _must("findings", JSONB),
    _must("created_by"),
    _must("recorded_at", MOMENT),
)

tariff_records = Table(
    "tariff_records",
    metadata,
    _key("record_id", BigInteger),
    _may("tenant"),
    _must("sku_price_id", BigInteger),
    _must("list_source"),
    _must("state"),
    _may("effective_until", MOMENT),
    _must("source"),
    _must("source_version"),
    _may("checked_on", Date),
    _may("created_by"),
    _may("approved_by"),
    _may("import_id", BigInteger),
    _must("recorded_at", MOMENT),
)

price_disagreements = Table(
    "price_disagreements",
    metadata,
    _key("disagreement_id", BigInteger),
    _may("tenant"),
    _may("import_id", BigInteger),
    _must("sku_price_id", BigInteger),
    _must("list_source"),
    _must("unit_price", MONEY),
    _must("other_sku_price_id", BigInteger),
    _must("other_source"),
    _must("other_unit_price", MONEY),
    _must("token_class"),
    _may("holds_from", MOMENT),
    _may("holds_until", MOMENT),
    _must("recorded_at", MOMENT),
)

contracts = Table(
    "contracts",
    metadata,
    _key("tenant"),
    _must("record_id", BigInteger),
    _must("contract_id"),
    _must("state"),
    _must("content", JSONB),
    _must("hash"),
    _must("created_by"),
    _may("approved_by"),
    _must("recorded_at", MOMENT),
)

audit_log = Table(
    "audit_log",
    metadata,
    _key("audit_id", BigInteger),
    _may("tenant"),
    _must("at", MOMENT),
    _must("actor"),
    _must("action"),
    _must("subject"),
    _may("before", JSONB),
    _may("after", JSONB),
)

alert_hooks = Table(
    "alert_hooks",
    metadata,
    _key("tenant"),
    _must("url"),
    _must("created_by"),
    _must("created_at", MOMENT),
)

alerted_models = Table(
    "alerted_models",
    metadata,
    _key("tenant"),
    _key("seller"),
    _key("model"),
    _must("alerted_at", MOMENT),
)

fx_rates = Table(
    "fx_rates",
    metadata,
    _may("tenant"),
    _must("rate_date", Date),
    _must("currency"),
    _must("per_eur"),
    _must("source"),
    _must("source_version"),
    _must("recorded_at", MOMENT),
)

plans = Table(
    "plans",
    metadata,
    _key("tenant"),
    _key("plan"),
    _must("display_name"),
    _must("created_at", MOMENT),
    _must("kind"),
    _may("acquisition_cost", MONEY),
)

plan_prices = Table(
    "plan_prices",
    metadata,
    _key("tenant"),
    _key("plan"),
    _key("interval_months", Integer),
    _key("effective_from", Date),
    _must("price", MONEY),
    _must("billing_currency"),
    _may("unit"),
    _may("included_units", BigInteger),
    _may("unit_price", MONEY),
    _may("unit_per", BigInteger),
    _must("created_at", MOMENT),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    _key("tenant"),
    _key("subscription_id"),
    _must("plan"),
    _must("user_id"),
    _may("account_id"),
    _must("monthly_price", MONEY),
    _must("billing_currency"),
    _must("starts_on", Date),
    _may("ends_on", Date),
    _must("created_at", MOMENT),
    _must("quantity", Integer),
    _must("interval_months", Integer),
    _must("comped", Boolean),
    _may("trial_until", Date),
    _must("revenue_from"),
)

subscription_terms = Table(
    "subscription_terms",
    metadata,
    _key("tenant"),
    _key("subscription_id"),
    _key("term_id"),
    _must("kind"),
    _must("starts_on", Date),
    _may("ends_on", Date),
    _may("percent_off", Numeric(9, 6)),
    _may("amount_off", MONEY),
    _must("created_at", MOMENT),
)

revenue_lines = Table(
    "revenue_lines",
    metadata,
    _key("tenant"),
    _key("line_id"),
    _must("source"),
    _must("kind"),
    _may("invoice_id"),
    _may("refers_to"),
    _may("customer_id"),
    _may("subscription_id"),
    _may("user_id"),
    _may("account_id"),
    _may("plan"),
    _must("amount", MONEY),
    _must("billing_currency"),
    _must("booked_at", MOMENT),
    _may("starts_at", MOMENT),
    _may("ends_at", MOMENT),
    _must("recognition"),
    _may("units", BigInteger),
    _may("unit"),
    _must("line_hash"),
    _must("imported_at", MOMENT),
)

revenue_customers = Table(
    "revenue_customers",
    metadata,
    _key("tenant"),
    _key("customer_id"),
    _may("user_id"),
    _may("account_id"),
    _must("created_at", MOMENT),
)

account_revenue_rules = Table(
    "account_revenue_rules",
    metadata,
    _key("tenant"),
    _key("effective_from", Date),
    _must("rule"),
    _must("created_at", MOMENT),
)

purpose_policies = Table(
    "purpose_policies",
    metadata,
    _may("tenant"),
    _must("purpose"),
    _must("effective_from", Date),
    _must("statement_line"),
    _must("created_at", MOMENT),
)

exceptions = Table(
    "exceptions",
    metadata,
    _key("tenant"),
    _key("exception_id"),
    _must("kind"),
    _must("event_id"),
    _must("format"),
    _must("reason"),
    _must("detail"),
    _must("context", JSONB),
    _must("usage_body"),
    _may("occurred_at", MOMENT),
    _must("received_at", MOMENT),
    _may("resolved_at", MOMENT),
    _may("resolution"),
)

cost_basis_rules = Table(
    "cost_basis_rules",
    metadata,
    _key("tenant"),
    _key("provider"),
    _key("surface"),
    _must("basis"),
    _must("created_at", MOMENT),
)

settlement_runs = Table(
    "settlement_runs",
    metadata,
    _key("tenant"),
    _key("run_id"),
    _must("started_at", MOMENT),
    _may("finished_at", MOMENT),
    _must("subjects", Integer),
    _must("charges", Integer),
)

curves = Table(
    "curves",
    metadata,
    _key("curve_key", BigInteger),
    _may("tenant"),
    _must("curve_id"),
    _must("form"),
    _must("model"),
    _must("engine"),
    _must("gpu"),
    _must("measured_at"),
    _must("floor", Boolean),
    _must("behaviour_changing", Boolean),
    _must("file_hash"),
    _must("file", JSONB),
    _may("created_by"),
    _must("recorded_at", MOMENT),
)

pools = Table(
    "pools",
    metadata,
    _key("tenant"),
    _must("record_id", BigInteger),
    _must("pool_id"),
    _must("state"),
    _must("effective_from", MOMENT),
    _may("effective_until", MOMENT),
    _must("role"),
    _must("model"),
    _must("curve_id"),
    _must("gpu"),
    _must("gpus_per_replica", Integer),
    _must("scheduler_order"),
    _must("token_budget", Integer),
    _must("max_batch", Integer),
    _may("kv_capacity_tokens", BigInteger),
    _must("admission"),
    _may("ttft_target_ms", Double),
    _may("itl_target_ms", Double),
    _must("policy"),
    _must("outside_range"),
    _must("prefix_policy"),
    _must("billing_currency"),
    _must("created_by"),
    _must("recorded_at", MOMENT),
)

pool_replicas = Table(
    "pool_replicas",
    metadata,
    _key("tenant"),
    _must("record_id", BigInteger),
    _must("pool_id"),
    _must("replica"),
    _must("state"),
    _must("effective_from", MOMENT),
    _may("effective_until", MOMENT),
    _may("rate_id"),
    _must("created_by"),
    _must("recorded_at", MOMENT),
)

gpu_rates = Table(
    "gpu_rates",
    metadata,
    _key("tenant"),
    _must("record_id", BigInteger),
    _must("rate_id"),
    _must("state"),
    _must("effective_from", MOMENT),
    _may("effective_until", MOMENT),
    _must("kind"),
    _must("gpu"),
    _must("billing_currency"),
    _must("terms", JSONB),
    _must("source"),
    _may("checked_on", Date),
    _must("created_by"),
    _may("approved_by"),
    _must("recorded_at", MOMENT),
)

pool_bills = Table(
    "pool_bills",
    metadata,
    _key("tenant"),
    _must("record_id", BigInteger),
    _must("pool_id"),
    _must("hour", MOMENT),
    _must("amount", MONEY),
    _must("billing_currency"),
    _may("gpu_hours", MONEY),
    _must("source"),
    _may("source_id"),
    _must("parts", JSONB),
    _must("created_by"),
    _must("recorded_at", MOMENT),
)

unused_gpu_hours = Table(
    "unused_gpu_hours",
    metadata,
    _key("tenant"),
    _must("record_id", BigInteger),
    _must("rate_id"),
    _must("hour", MOMENT),
    _must("amount", MONEY),
    _must("billing_currency"),
    _may("gpu_hours", MONEY),
    _must("source"),
    _may("source_id"),
    _must("created_by"),
    _must("recorded_at", MOMENT),
)

pool_hours = Table(
    "pool_hours",
    metadata,
    _key("tenant"),
    _key("pool_id"),
    _key("hour", MOMENT),
    _key("settlement", Integer),
    _must("bill", MONEY),
    _must("billing_currency"),
    _must("direct", MONEY),
    _must("gap", MONEY),
    _must("idle", MONEY),
    _must("unallocated_gap", MONEY),
    _must("unallocated_idle", MONEY),
    _must("unproven", MONEY),
    _may("underfill", MONEY),
    _may("utilisation", Double),
    _may("calibration", Double),
    _must("capacity_us", BigInteger),
    _must("in_flight_us", BigInteger),
    _must("idle_us", BigInteger),
    _must("unproven_us", BigInteger),
    _must("requests", Integer),
    _must("charged", Integer),
    _must("unpriced", Integer),
    _must("estimated", Integer),
    _must("extrapolated", Integer),
    _may("best_batch", Integer),
    _must("curve_id"),
    _must("policy"),
    _must("fluid", Boolean),
    _must("inputs_hash", LargeBinary),
    _must("settled_at", MOMENT),
)

settled_pool_hours = Table("settled_pool_hours", views, *[Column(one.name, one.type) for one in pool_hours.columns])
"""The view of the settlement of each hour that counts."""
