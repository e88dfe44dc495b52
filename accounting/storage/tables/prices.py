"""What do sellers ask, since when, and in which currency?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Date, Integer, Table, Time
from sqlalchemy.dialects.postgresql import JSONB

from accounting.storage.tables.columns import MOMENT, MONEY, key, may, metadata, must

tariffs = Table(
    "tariffs",
    metadata,
    key("sku_price_id", BigInteger),
    may("tenant"),
    must("seller"),
    may("surface"),
    must("model"),
    must("service_tier"),
    must("above_input_tokens", BigInteger),
    must("operator"),
    may("window_start", Time),
    may("window_end", Time),
    may("effective_from", MOMENT),
    may("effective_until", MOMENT),
    must("currency"),
    must("source"),
    must("source_version"),
    may("checked_on", Date),
    must("hash"),
    must("recorded_at", MOMENT),
    may("region"),
    must("decided_by"),
    may("derived_from", BigInteger),
)

tariff_prices = Table(
    "tariff_prices",
    metadata,
    key("sku_price_id", BigInteger),
    may("tenant"),
    key("token_class"),
    must("unit_price", MONEY),
    must("per", Integer),
    may("fallback"),
    may("price_text"),
)

tariff_aliases = Table(
    "tariff_aliases",
    metadata,
    may("tenant"),
    must("seller"),
    must("alias"),
    must("model_seller"),
    must("model"),
    must("source"),
    may("checked_on", Date),
    key("alias_id", BigInteger),
    must("list_source"),
    may("created_by"),
    must("recorded_at", MOMENT),
    may("recorded_until", MOMENT),
)

price_imports = Table(
    "price_imports",
    metadata,
    key("import_id", BigInteger),
    may("tenant"),
    must("list_source"),
    must("source_version"),
    may("as_of", Date),
    must("file_hash"),
    must("counts", JSONB),
    must("findings", JSONB),
    must("created_by"),
    must("recorded_at", MOMENT),
)

tariff_records = Table(
    "tariff_records",
    metadata,
    key("record_id", BigInteger),
    may("tenant"),
    must("sku_price_id", BigInteger),
    must("list_source"),
    must("state"),
    may("effective_until", MOMENT),
    must("source"),
    must("source_version"),
    may("checked_on", Date),
    may("created_by"),
    may("approved_by"),
    may("import_id", BigInteger),
    must("recorded_at", MOMENT),
)

price_disagreements = Table(
    "price_disagreements",
    metadata,
    key("disagreement_id", BigInteger),
    may("tenant"),
    may("import_id", BigInteger),
    must("sku_price_id", BigInteger),
    must("list_source"),
    must("unit_price", MONEY),
    must("other_sku_price_id", BigInteger),
    must("other_source"),
    must("other_unit_price", MONEY),
    must("token_class"),
    may("holds_from", MOMENT),
    may("holds_until", MOMENT),
    must("recorded_at", MOMENT),
)

contracts = Table(
    "contracts",
    metadata,
    key("tenant"),
    must("record_id", BigInteger),
    must("contract_id"),
    must("state"),
    must("content", JSONB),
    must("hash"),
    must("created_by"),
    may("approved_by"),
    must("recorded_at", MOMENT),
)

alert_hooks = Table(
    "alert_hooks",
    metadata,
    key("tenant"),
    must("url"),
    must("created_by"),
    must("created_at", MOMENT),
)

alerted_models = Table(
    "alerted_models",
    metadata,
    key("tenant"),
    key("seller"),
    key("model"),
    must("alerted_at", MOMENT),
)

fx_rates = Table(
    "fx_rates",
    metadata,
    may("tenant"),
    must("rate_date", Date),
    must("currency"),
    must("per_eur"),
    must("source"),
    must("source_version"),
    must("recorded_at", MOMENT),
)
