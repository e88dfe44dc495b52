"""How fast is a dry run of re-pricing, beside reading the same columns and doing nothing with them, and beside a bare SELECT?"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Engine, text

from accounting.ledger.reprice import RepriceFilter, reprice
from accounting.ledger.reprice_scan import statement
from accounting.ledger.rollups import rebuild
from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for, read_only, transaction
from accounting.storage.tables import usage_events
from accounting.storage.tariffs import load_layers, seed_list_tariffs
from accounting.storage.tenants import context, create_tenant
from tests.bench.bench_ingest import NOW

SIZE = int(os.environ.get("BENCH_REPRICE_EVENTS", "1000000"))
ROUNDS = int(os.environ.get("BENCH_REPRICE_ROUNDS", "3"))
SINCE, UNTIL = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 8, 1, tzinfo=UTC)

# As logs come: nearly in the order of time. Half of the events cost what they did by the list, the others something else.
_VALUES = {
    "tenant": "'bench'",
    "event_id": "md5(n::text)",
    "revision": "0",
    "occurred_at": f"timestamptz '2026-07-01Z' + (n * (31 * 86400.0 / {SIZE + 1})) * interval '1 second'",
    "received_at": "now()",
    "booking_period": "'2026-07-01'",
    "provider": "(ARRAY['openai','anthropic'])[1 + n % 2]",
    "model": "(ARRAY['o3','claude-sonnet-4-5','gpt-5.4','claude-opus-4-6'])[1 + n % 4]",
    "status": "'ok'",
    "purpose": "'production'",
    "user_id": "'user-' || (n::bigint * 7919 % 1000)",
    "feature": "(ARRAY['chat','search','agent'])[1 + n % 3]",
    "seller": "(ARRAY['openai','anthropic'])[1 + n % 2]",
    "charge_status": "'priced'",
    "wire_format": "'native'",
    "basis": "'price_list'",
    "billing_currency": "'USD'",
    "sku_price_id": "1",
    "list_cost_e15": "2800000000000",
    "contracted_cost_e15": "2800000000000",
    "batch": "false",
    "usage_known": "true",
    "cache_read_known": "true",
    "body_hash": "''",
    "uncached_input_tokens": "1000",
    "cache_read_tokens": "CASE WHEN n % 4 = 0 THEN 0 ELSE n % 3 * 1024 END",
    "output_tokens": "100",
}


def _fill(owner: Engine) -> None:
    names = [column.name for column in usage_events.columns]
    values = [
        _VALUES.get(name, "0" if name.endswith(("_tokens", "_requests")) and name != "context_tokens" else "NULL")
        for name in names
    ]
    insert = (
        f"INSERT INTO usage_events ({', '.join(names)}) SELECT {', '.join(values)} FROM generate_series(1, {SIZE}) AS n"
    )
    with transaction(owner, "bench") as connection:
        connection.execute(text(insert))
    with transaction(owner, "bench") as connection:
        rebuild(connection, "bench", "UTC")
    with transaction(owner, "bench") as connection:
        connection.execute(text("ANALYZE usage_events"))  # A month that grew by the day has been looked at long ago.


def _read_only(engine: Engine, query: Callable[[sql.Composed], sql.Composed], copied: bool) -> float:
    """Seconds in which the columns of the scan are sent (COPY), or only found and counted by the server."""
    with read_only(engine, "bench") as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        asked = query(statement(connection, "bench", SINCE, UNTIL, RepriceFilter()))
        started = time.perf_counter()
        if copied:
            with driver.cursor() as cursor, cursor.copy(asked) as copy:
                for _ in copy:
                    pass
        else:
            driver.execute(asked).fetchall()
        return time.perf_counter() - started


def run() -> dict[str, Any]:
    """Events a second of the dry run, and its time over that of the bare reads of the same run; best of the rounds."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner, app = engine_for(server.owner_url), engine_for(server.app_url)
    migrate.upgrade(owner, today=NOW.date())
    seed_list_tariffs(owner)
    create_tenant(owner, "bench", "Bench")
    _fill(owner)
    tenant, layers = context(app, "bench"), load_layers(app, "bench")
    copy = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format
    count = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF) {}").format
    found: dict[str, list[float]] = {"reprice": [], "copy": [], "select": []}
    changed = 0
    for _ in range(ROUNDS):
        found["select"].append(_read_only(app, count, copied=False))
        found["copy"].append(_read_only(app, copy, copied=True))
        started = time.perf_counter()
        plan = reprice(app, tenant, layers, SINCE, UNTIL)
        found["reprice"].append(time.perf_counter() - started)
        assert plan.read == SIZE
        changed = plan.changed
    for engine in (owner, app):
        engine.dispose()
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    best = {name: min(seconds) for name, seconds in found.items()}
    return {
        "events": SIZE,
        "changed": changed,
        "events_per_second": {name: round(SIZE / seconds) for name, seconds in best.items()},
        "over_copy": round(best["reprice"] / best["copy"], 2),
        "over_select": round(best["reprice"] / best["select"], 2),
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
