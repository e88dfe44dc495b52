"""What do users pay, and on which line of the statement does a cost stand?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Date, Integer, Numeric, Table

from accounting.storage.tables.columns import MOMENT, MONEY, key, may, metadata, must

plans = Table(
    "plans",
    metadata,
    key("tenant"),
    key("plan"),
    must("display_name"),
    must("created_at", MOMENT),
    must("kind"),
    may("acquisition_cost", MONEY),
)

plan_prices = Table(
    "plan_prices",
    metadata,
    key("tenant"),
    key("plan"),
    key("interval_months", Integer),
    key("effective_from", Date),
    must("price", MONEY),
    must("billing_currency"),
    may("unit"),
    may("included_units", BigInteger),
    may("unit_price", MONEY),
    may("unit_per", BigInteger),
    must("created_at", MOMENT),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    key("tenant"),
    key("subscription_id"),
    must("plan"),
    must("user_id"),
    may("account_id"),
    must("monthly_price", MONEY),
    must("billing_currency"),
    must("starts_on", Date),
    may("ends_on", Date),
    must("created_at", MOMENT),
    must("quantity", Integer),
    must("interval_months", Integer),
    must("comped", Boolean),
    may("trial_until", Date),
    must("revenue_from"),
)

subscription_terms = Table(
    "subscription_terms",
    metadata,
    key("tenant"),
    key("subscription_id"),
    key("term_id"),
    must("kind"),
    must("starts_on", Date),
    may("ends_on", Date),
    may("percent_off", Numeric(9, 6)),
    may("amount_off", MONEY),
    must("created_at", MOMENT),
)

revenue_lines = Table(
    "revenue_lines",
    metadata,
    key("tenant"),
    key("line_id"),
    must("source"),
    must("kind"),
    may("invoice_id"),
    may("refers_to"),
    may("customer_id"),
    may("subscription_id"),
    may("user_id"),
    may("account_id"),
    may("plan"),
    must("amount", MONEY),
    must("billing_currency"),
    must("booked_at", MOMENT),
    may("starts_at", MOMENT),
    may("ends_at", MOMENT),
    must("recognition"),
    may("units", BigInteger),
    may("unit"),
    must("line_hash"),
    must("imported_at", MOMENT),
)

revenue_customers = Table(
    "revenue_customers",
    metadata,
    key("tenant"),
    key("customer_id"),
    may("user_id"),
    may("account_id"),
    must("created_at", MOMENT),
)

account_revenue_rules = Table(
    "account_revenue_rules",
    metadata,
    key("tenant"),
    key("effective_from", Date),
    must("rule"),
    must("created_at", MOMENT),
)

purpose_policies = Table(
    "purpose_policies",
    metadata,
    may("tenant"),
    must("purpose"),
    must("effective_from", Date),
    must("statement_line"),
    must("created_at", MOMENT),
)
