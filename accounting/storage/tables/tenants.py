"""Who is let in, with what rules, and who changed what?"""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, LargeBinary, Table
from sqlalchemy.dialects.postgresql import JSONB

from accounting.storage.tables.columns import MOMENT, key, may, metadata, must

tenants = Table(
    "tenants",
    metadata,
    key("tenant"),
    must("display_name"),
    must("reporting_tz"),
    must("billing_currency"),
    may("raw_usage_days", Integer),
    may("identity_days", Integer),
    must("created_at", MOMENT),
)

api_keys = Table(
    "api_keys",
    metadata,
    key("tenant"),
    key("key_id"),
    must("scope"),
    must("secret_hash", LargeBinary),
    must("label"),
    must("created_at", MOMENT),
    may("revoked_at", MOMENT),
)

logins = Table(
    "logins",
    metadata,
    key("tenant"),
    key("issuer"),
    key("subject"),
    must("scope"),
    must("label"),
    must("created_at", MOMENT),
)

audit_log = Table(
    "audit_log",
    metadata,
    key("audit_id", BigInteger),
    may("tenant"),
    must("at", MOMENT),
    must("actor"),
    must("action"),
    must("subject"),
    may("before", JSONB),
    may("after", JSONB),
)

cost_basis_rules = Table(
    "cost_basis_rules",
    metadata,
    key("tenant"),
    key("provider"),
    key("surface"),
    must("basis"),
    must("created_at", MOMENT),
)
