"""What serves a tenant's own requests, and what does it cost?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Date, Double, Integer, LargeBinary, Table
from sqlalchemy.dialects.postgresql import JSONB

from accounting.storage.tables.columns import MOMENT, MONEY, key, may, metadata, must, views

curves = Table(
    "curves",
    metadata,
    key("curve_key", BigInteger),
    may("tenant"),
    must("curve_id"),
    must("form"),
    must("model"),
    must("engine"),
    must("gpu"),
    must("measured_at"),
    must("floor", Boolean),
    must("behaviour_changing", Boolean),
    must("file_hash"),
    must("file", JSONB),
    may("created_by"),
    must("recorded_at", MOMENT),
)

pools = Table(
    "pools",
    metadata,
    key("tenant"),
    must("record_id", BigInteger),
    must("pool_id"),
    must("state"),
    must("effective_from", MOMENT),
    may("effective_until", MOMENT),
    must("role"),
    must("model"),
    must("curve_id"),
    must("gpu"),
    must("gpus_per_replica", Integer),
    must("scheduler_order"),
    must("token_budget", Integer),
    must("max_batch", Integer),
    may("kv_capacity_tokens", BigInteger),
    must("admission"),
    may("ttft_target_ms", Double),
    may("itl_target_ms", Double),
    must("policy"),
    must("outside_range"),
    must("prefix_policy"),
    must("billing_currency"),
    must("created_by"),
    must("recorded_at", MOMENT),
)

pool_replicas = Table(
    "pool_replicas",
    metadata,
    key("tenant"),
    must("record_id", BigInteger),
    must("pool_id"),
    must("replica"),
    must("state"),
    must("effective_from", MOMENT),
    may("effective_until", MOMENT),
    may("rate_id"),
    must("created_by"),
    must("recorded_at", MOMENT),
)

gpu_rates = Table(
    "gpu_rates",
    metadata,
    key("tenant"),
    must("record_id", BigInteger),
    must("rate_id"),
    must("state"),
    must("effective_from", MOMENT),
    may("effective_until", MOMENT),
    must("kind"),
    must("gpu"),
    must("billing_currency"),
    must("terms", JSONB),
    must("source"),
    may("checked_on", Date),
    must("created_by"),
    may("approved_by"),
    must("recorded_at", MOMENT),
)

pool_bills = Table(
    "pool_bills",
    metadata,
    key("tenant"),
    must("record_id", BigInteger),
    must("pool_id"),
    must("hour", MOMENT),
    must("amount", MONEY),
    must("billing_currency"),
    may("gpu_hours", MONEY),
    must("source"),
    may("source_id"),
    must("parts", JSONB),
    must("created_by"),
    must("recorded_at", MOMENT),
)

unused_gpu_hours = Table(
    "unused_gpu_hours",
    metadata,
    key("tenant"),
    must("record_id", BigInteger),
    must("rate_id"),
    must("hour", MOMENT),
    must("amount", MONEY),
    must("billing_currency"),
    may("gpu_hours", MONEY),
    must("source"),
    may("source_id"),
    must("created_by"),
    must("recorded_at", MOMENT),
)

pool_hours = Table(
    "pool_hours",
    metadata,
    key("tenant"),
    key("pool_id"),
    key("hour", MOMENT),
    key("settlement", Integer),
    must("bill", MONEY),
    must("billing_currency"),
    must("direct", MONEY),
    must("gap", MONEY),
    must("idle", MONEY),
    must("unallocated_gap", MONEY),
    must("unallocated_idle", MONEY),
    must("unproven", MONEY),
    may("underfill", MONEY),
    may("utilisation", Double),
    may("calibration", Double),
    must("capacity_us", BigInteger),
    must("in_flight_us", BigInteger),
    must("idle_us", BigInteger),
    must("unproven_us", BigInteger),
    must("requests", Integer),
    must("charged", Integer),
    must("unpriced", Integer),
    must("estimated", Integer),
    must("extrapolated", Integer),
    may("best_batch", Integer),
    must("curve_id"),
    must("policy"),
    must("fluid", Boolean),
    must("inputs_hash", LargeBinary),
    must("settled_at", MOMENT),
)

settled_pool_hours = Table("settled_pool_hours", views, *[Column(one.name, one.type) for one in pool_hours.columns])
"""The view of the settlement of each hour that counts."""
