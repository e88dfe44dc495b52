"""What tables are there? The shapes queries are written against; the migrations make them, a test holds the two together."""

from __future__ import annotations

from accounting.storage.tables.columns import MOMENT, MONEY, metadata, views
from accounting.storage.tables.ledger import charges, ledger, rollup_15m, rollup_day, rollup_user_day, settlement_runs
from accounting.storage.tables.pools import (
    curves,
    gpu_rates,
    pool_bills,
    pool_hours,
    pool_replicas,
    pools,
    settled_pool_hours,
    unused_gpu_hours,
)
from accounting.storage.tables.prices import (
    alert_hooks,
    alerted_models,
    contracts,
    fx_rates,
    price_disagreements,
    price_imports,
    tariff_aliases,
    tariff_prices,
    tariff_records,
    tariffs,
)
from accounting.storage.tables.revenue import (
    account_revenue_rules,
    plan_prices,
    plans,
    purpose_policies,
    revenue_customers,
    revenue_lines,
    subscription_terms,
    subscriptions,
)
from accounting.storage.tables.tenants import api_keys, audit_log, cost_basis_rules, logins, tenants
from accounting.storage.tables.usage import event_ids, exceptions, raw_usage, usage_events

__all__ = [
    "MOMENT",
    "MONEY",
    "account_revenue_rules",
    "alert_hooks",
    "alerted_models",
    "api_keys",
    "audit_log",
    "charges",
    "contracts",
    "cost_basis_rules",
    "curves",
    "event_ids",
    "exceptions",
    "fx_rates",
    "gpu_rates",
    "ledger",
    "logins",
    "metadata",
    "plan_prices",
    "plans",
    "pool_bills",
    "pool_hours",
    "pool_replicas",
    "pools",
    "price_disagreements",
    "price_imports",
    "purpose_policies",
    "raw_usage",
    "revenue_customers",
    "revenue_lines",
    "rollup_15m",
    "rollup_day",
    "rollup_user_day",
    "settled_pool_hours",
    "settlement_runs",
    "subscription_terms",
    "subscriptions",
    "tariff_aliases",
    "tariff_prices",
    "tariff_records",
    "tariffs",
    "tenants",
    "unused_gpu_hours",
    "usage_events",
    "views",
]
