"""What usage was sent, as it came and as it is stored?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Date, Double, Integer, LargeBinary, SmallInteger, Table
from sqlalchemy.dialects.postgresql import JSONB

from accounting.storage.tables.columns import MOMENT, MONEY, key, may, metadata, must
from accounting.usage.classes import USAGE_COLUMNS

event_ids = Table(
    "event_ids",
    metadata,
    key("tenant"),
    key("event_id"),
    must("occurred_at", MOMENT),
    must("body_hash", LargeBinary),
)

raw_usage = Table(
    "raw_usage",
    metadata,
    key("tenant"),
    key("raw_batch", BigInteger),
    must("received_at", MOMENT),
    must("format"),
    must("codec"),
    must("events", Integer),
    must("body", LargeBinary),
)

usage_events = Table(
    "usage_events",
    metadata,
    must("tenant"),
    must("event_id"),
    must("revision", SmallInteger),
    must("occurred_at", MOMENT),
    must("received_at", MOMENT),
    must("booking_period", Date),
    may("response_id"),
    may("retry_of"),
    may("queue_ms", Double),
    may("prefill_started_at", MOMENT),
    may("first_token_at", MOMENT),
    may("completed_at", MOMENT),
    must("provider"),
    may("surface"),
    must("model"),
    may("response_model"),
    may("deployment"),
    may("replica"),
    may("prefill_deployment"),
    may("prefill_replica"),
    may("accepted_steps", Integer),
    may("preemptions", Integer),
    may("reasoning_effort"),
    may("score", Double),
    may("region"),
    may("service_tier"),
    may("requested_service_tier"),
    may("reported_cost_usd", MONEY),
    must("batch", Boolean),
    must("status"),
    must("purpose"),
    may("account_id"),
    may("user_id"),
    may("feature"),
    may("task_id"),
    may("trace_id"),
    may("tags", JSONB),
    may("context_tokens", Integer),
    must("usage_known", Boolean),
    must("cache_read_known", Boolean),
    *[must(name, Integer) for name in USAGE_COLUMNS],
    must("body_hash", LargeBinary),
    must("wire_format"),
    may("raw_batch", BigInteger),
    may("raw_index", Integer),
    must("basis"),
    must("seller"),
    must("charge_status"),
    may("reason"),
    may("sku_price_id", BigInteger),
    may("list_cost_e15", BigInteger),
    may("contracted_cost_e15", BigInteger),
    must("billing_currency"),
    may("list_sku_price_id", BigInteger),
)

exceptions = Table(
    "exceptions",
    metadata,
    key("tenant"),
    key("exception_id"),
    must("kind"),
    must("event_id"),
    must("format"),
    must("reason"),
    must("detail"),
    must("context", JSONB),
    must("usage_body"),
    may("occurred_at", MOMENT),
    must("received_at", MOMENT),
    may("resolved_at", MOMENT),
    may("resolution"),
)
