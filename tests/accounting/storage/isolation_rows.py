"""Rows of a tenant in every table, partition and view, so that a walk can tell whose it sees."""

from __future__ import annotations

import httpx
from sqlalchemy import Connection, text

from tests.accounting.storage.isolation_walk import chat, curve, subscription
from tests.events import body, event


def fill_by_api(client: httpx.Client, tenant: str) -> None:
    """Rows that a client of the API writes."""
    named = {
        "user_id": f"{tenant}-user",
        "account_id": f"{tenant}-account",
        "feature": f"{tenant}-feature",
        "tags": {f"{tenant}-tag": f"{tenant}-value"},
        "trace_id": f"{tenant}-trace",
    }
    sent = [
        event(f"{tenant}-priced", **named),
        event(f"{tenant}-unpriced", model=f"{tenant}-model", **named),
        event(f"{tenant}-void", **named),
        event(f"{tenant}-more", **named),
    ]
    assert client.post("/v1/usage/events", content=body(sent)).json()["accepted"] == 4
    other = event(f"{tenant}-priced", model=f"{tenant}-other", **named)
    assert len(client.post("/v1/usage/events", content=body([other])).json()["conflicts"]) == 1
    wire = client.post("/v1/usage/openai_chat", json=chat(tenant)).json()
    assert [row["event_id"] for row in wire["exceptions"]] == [f"openai:{tenant}-chat"]
    answers = [
        client.put("/v1/cost-basis", json={"provider": f"{tenant}-seller", "basis": "reported"}),
        client.post(f"/v1/usage/events/{tenant}-void/void", json={"reason": f"{tenant}-reason"}),
        client.put(f"/v1/plans/{tenant}-plan", json={"display_name": f"{tenant}-plan-name"}),
        client.put(f"/v1/subscriptions/{tenant}-subscription", json=subscription(tenant)),
        client.post("/v1/curves", json=curve(tenant)),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 200]


BY_OWNER = (
    "INSERT INTO fx_rates (tenant, rate_date, currency, per_eur, source, source_version) "
    "VALUES (:tenant, '2026-07-01', 'USD', '1.25', :tenant, :tenant)",
    "INSERT INTO cost_basis_rules (tenant, provider, surface, basis) VALUES (:tenant, :tenant || '-provider', '', 'reported')",
    "INSERT INTO settlement_runs (tenant, run_id, started_at) VALUES (:tenant, :tenant || '-run', now())",
    "INSERT INTO purpose_policies (tenant, purpose, effective_from, statement_line) "
    "VALUES (:tenant, 'eval', '2026-01-01', 'internal')",
    "INSERT INTO tariffs (sku_price_id, tenant, seller, model, service_tier, above_input_tokens, operator, currency, source, "
    "source_version, hash) VALUES (length(:tenant), :tenant, :tenant || '-seller', :tenant || '-model', 'default', 0, '>', "
    "'USD', :tenant || '-contract', '1', 'x')",
    "INSERT INTO tariff_prices (sku_price_id, tenant, token_class, unit_price, per) "
    "VALUES (length(:tenant), :tenant, 'output', 1, 1000000)",
    "INSERT INTO tariff_aliases (tenant, seller, alias, model_seller, model, source, list_source) "
    "VALUES (:tenant, :tenant || '-seller', :tenant || '-alias', :tenant || '-seller', :tenant || '-model', 'contract', 'hand')",
    "INSERT INTO price_imports (tenant, list_source, source_version, file_hash, counts, findings, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-source', '1', 'x', '{}', '{}', :tenant || '-actor', now())",
    "INSERT INTO tariff_records (tenant, sku_price_id, list_source, state, source, source_version, recorded_at) "
    "VALUES (:tenant, length(:tenant), 'hand', 'withdrawn', :tenant || '-contract', '1', now())",
    "INSERT INTO price_disagreements (tenant, sku_price_id, list_source, unit_price, other_sku_price_id, other_source, "
    "other_unit_price, token_class, recorded_at) "
    "VALUES (:tenant, length(:tenant), :tenant || '-source', 1, length(:tenant), 'hand', 2, 'output', now())",
    "INSERT INTO contracts (tenant, contract_id, state, content, hash, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-contract', 'withdrawn', '{}', 'x', :tenant || '-actor', now())",
    "INSERT INTO contract_standings (tenant, contract_id, until, basis, used) "
    "VALUES (:tenant, :tenant || '-contract', now(), 'x', '{}')",
    "INSERT INTO ledger_changes (tenant, since) VALUES (:tenant, now())",
    "INSERT INTO audit_log (tenant, at, actor, action, subject) "
    "VALUES (:tenant, now(), :tenant || '-actor', 'prices.add', :tenant || '-row')",
    "INSERT INTO alert_hooks (tenant, url, created_by) VALUES (:tenant, 'http://127.0.0.1:9/' || :tenant, :tenant || '-actor')",
    "INSERT INTO alerted_models (tenant, seller, model) VALUES (:tenant, :tenant || '-seller', :tenant || '-model')",
)
REVENUE_BY_OWNER = (
    "INSERT INTO plan_prices (tenant, plan, interval_months, effective_from, price, billing_currency) "
    "VALUES (:tenant, :tenant || '-plan', 1, '2026-01-01', 20, 'USD')",
    "INSERT INTO subscription_terms (tenant, subscription_id, term_id, kind, starts_on) "
    "VALUES (:tenant, :tenant || '-subscription', :tenant || '-term', 'pause', '2026-07-10')",
    "INSERT INTO revenue_lines (tenant, line_id, source, kind, amount, billing_currency, booked_at, recognition, line_hash) "
    "VALUES (:tenant, :tenant || '-line', 'csv', 'one_off', 1, 'USD', now(), 'day', 'x')",
    "INSERT INTO revenue_customers (tenant, customer_id, user_id) VALUES (:tenant, :tenant || '-customer', :tenant || '-user')",
    "INSERT INTO logins (tenant, issuer, subject, scope) VALUES (:tenant, 'https://accounts.example.com', :tenant || '-subject', 'viewer')",
    "INSERT INTO account_revenue_rules (tenant, effective_from, rule) VALUES (:tenant, '2026-01-01', 'account')",
    "INSERT INTO closed_months (tenant, month, closed_by, totals, coverage) VALUES (:tenant, '2020-01-01', 'x', '{}', '{}')",
)
POOLS_BY_OWNER = (
    "INSERT INTO pools (tenant, pool_id, state, effective_from, role, model, curve_id, gpu, gpus_per_replica, scheduler_order, "
    "token_budget, max_batch, admission, policy, outside_range, prefix_policy, billing_currency, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-pool', 'stated', '2026-07-01', 'mixed', 'm', :tenant || '-curve', 'H200', 1, 'decode_first', "
    "8192, 256, 'prompt', 'switch', 'flag', 'first_pays', 'USD', 'x', now())",
    "INSERT INTO pool_replicas (tenant, pool_id, replica, state, effective_from, rate_id, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-pool', 'r0', 'stated', '2026-07-01', :tenant || '-rate', 'x', now())",
    "INSERT INTO gpu_rates (tenant, rate_id, state, effective_from, kind, gpu, billing_currency, terms, source, created_by, "
    "recorded_at) VALUES (:tenant, :tenant || '-rate', 'stated', '2026-07-01', 'on_demand', 'H200', 'USD', "
    "'{\"price_per_hour\": \"3\", \"gpus\": 1}', :tenant || '-source', 'x', now())",
    "INSERT INTO pool_bills (tenant, pool_id, hour, amount, billing_currency, gpu_hours, source, parts, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-pool', '2026-07-01 00:00:00+00', 3, 'USD', 1, 'schedule', '[]', 'x', now())",
    "INSERT INTO pool_hours (tenant, pool_id, hour, settlement, bill, billing_currency, direct, gap, idle, unallocated_gap, "
    "unallocated_idle, unproven, capacity_us, in_flight_us, idle_us, unproven_us, requests, charged, unpriced, estimated, "
    "extrapolated, curve_id, policy, fluid, inputs_hash) VALUES (:tenant, :tenant || '-pool', '2026-07-01 00:00:00+00', 1, 3, 'USD', 0, "
    "0, 3, 0, 3, 0, 3600000000, 0, 3600000000, 0, 0, 0, 0, 0, 0, :tenant || '-curve', 'switch', false, 'x')",
    "INSERT INTO pool_steps (tenant, pool_id, replica, hour, ledger_hash, state, source_id, starts_at, ends_at, steps, requests, "
    "measured_ns, created_by, recorded_at, step_columns, part_columns) VALUES (:tenant, :tenant || '-pool', 'r0', "
    "'2026-07-01 00:00:00+00', 'x', 'stated', 'x', '2026-07-01 00:00:00+00', '2026-07-01 00:00:00+00', 0, 0, 0, 'x', now(), 'x', 'x')",
    "INSERT INTO unused_gpu_hours (tenant, rate_id, hour, amount, billing_currency, source, created_by, recorded_at) "
    "VALUES (:tenant, :tenant || '-rate', '2026-07-01 00:00:00+00', 3, 'USD', 'schedule', 'x', now())",
)
BOUNDS = """
    SELECT inhrelid::regclass::text AS name, pg_get_expr(relpartbound, inhrelid) AS bounds
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'usage_events'::regclass
"""


def fill_by_owner(connection: Connection, tenant: str) -> None:
    """Rows that no endpoint writes, and one event in every partition."""
    for statement in (*BY_OWNER, *REVENUE_BY_OWNER, *POOLS_BY_OWNER):
        connection.execute(text(statement), {"tenant": tenant})
    columns = [row.name for row in connection.execute(text(COLUMNS), {"table": "usage_events"})]
    kept = ", ".join(f"{{{name}}}" if name in ("event_id", "occurred_at") else name for name in columns)
    for partition in connection.execute(text(BOUNDS)).all():
        # FOR VALUES FROM ('2026-07-01 00:00:00+00') TO (...), or DEFAULT, which takes what is far ahead.
        moment = "2099-01-01" if partition.bounds == "DEFAULT" else partition.bounds.split("'")[1]
        values = kept.format(event_id=f"'{tenant}-{partition.name}'", occurred_at=f"'{moment}'")
        connection.execute(
            text(
                f"INSERT INTO usage_events ({', '.join(columns)}) SELECT {values} FROM usage_events "
                f"WHERE event_id = '{tenant}-priced'"
            )
        )


COLUMNS = """
    SELECT attname AS name FROM pg_attribute
    WHERE attrelid = CAST(:table AS regclass) AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attgenerated = ''
    ORDER BY attnum
"""
