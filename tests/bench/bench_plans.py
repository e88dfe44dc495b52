"""How long, and in how much memory, does plan profitability take for a million subscribers, beside the raw SQL it cannot do without?"""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from accounting.reports import ReportQuery
from accounting.reports import run as run_report
from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for, read_only, transaction
from accounting.storage.tenants import context, create_tenant
from tests.bench.bench_ingest import NOW

USERS = int(os.environ.get("BENCH_PLAN_USERS", "1000000"))
DAYS = 2
EVENTS = 25
"""Events of a user on each of its days: 50 a user."""

_PLANS = (
    "INSERT INTO plans (tenant, plan, display_name) SELECT 'bench', p, p FROM unnest(ARRAY['free', 'pro', 'team']) p"
)
_SUBSCRIPTIONS = f"""
    INSERT INTO subscriptions (tenant, subscription_id, plan, user_id, monthly_price, billing_currency, starts_on)
    SELECT 'bench', 's' || n, (ARRAY['free', 'pro', 'team'])[1 + n % 3], 'u' || n, (ARRAY[0, 20, 30])[1 + n % 3], 'USD', '2026-01-01'
    FROM generate_series(1, {USERS}) n
"""
_ROLLUP = f"""
    INSERT INTO rollup_user_day (tenant, day, user_id, account_id, booking_period, purpose, charge_status, billing_currency, events,
      uncached_input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, list_cost, contracted_cost, effective_cost, billed_cost,
      category)
    SELECT 'bench', date '2026-07-01' + d, 'u' || n, '', '2026-07-01', 'production', 'priced', 'USD', {EVENTS}, 1000 * (n % 97), 0, 0,
      100 * (n % 97), c, c, c, c, 'Usage'
    FROM generate_series(0, {DAYS - 1}) d, generate_series(1, {USERS}) n, LATERAL (SELECT (n % 97) * (n % 89) * 0.004 AS c) cost
"""
RAW = """
    SELECT s.plan, count(DISTINCT r.user_id), sum(r.effective_cost) FROM rollup_user_day r
    JOIN subscriptions s ON s.tenant = r.tenant AND s.user_id = r.user_id
    WHERE r.tenant = 'bench' AND r.day >= '2026-07-01' AND r.day < '2026-08-01' GROUP BY 1
"""


def _fill(owner: Engine) -> None:
    with transaction(owner, "bench") as connection:
        for statement in (_PLANS, _SUBSCRIPTIONS, _ROLLUP):
            connection.execute(text(statement))


def run() -> dict[str, Any]:
    """Seconds and peak memory of the report in this process, and seconds of the bare sum by plan in SQL."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner, app = engine_for(server.owner_url), engine_for(server.app_url)
    superuser = make_url(server.superuser_url).set(database=owner.url.database).render_as_string(hide_password=False)
    migrate.upgrade(owner, today=NOW.date())
    create_tenant(owner, "bench", "Bench")
    started = time.perf_counter()
    _fill(owner)
    with engine_for(superuser).connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (ANALYZE) rollup_user_day"))
        connection.execute(text("VACUUM (ANALYZE) subscriptions"))
    filled = time.perf_counter() - started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    report = run_report(
        app, context(app, "bench"), "plan-profitability", ReportQuery.parse("2026-07-01", "2026-08-01", "UTC")
    )
    taken = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    with read_only(app, "bench") as connection:
        connection.execute(text(RAW)).all()
    raw = time.perf_counter() - started
    subscribers = sum(row["subscribers"] for row in report.rows)
    for engine in (owner, app, engine_for(superuser)):
        engine.dispose()
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "users": USERS,
        "subscribers": subscribers,
        "events": USERS * DAYS * EVENTS,
        "rollup_rows": USERS * DAYS,
        "fill_s": round(filled, 1),
        "report_s": round(taken, 1),
        "raw_sql_s": round(raw, 1),
        "peak_mib": round(peak / 1024),
        "peak_mib_before": round(before / 1024),
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
