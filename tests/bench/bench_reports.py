"""How long does a report take over HTTP with 10 million events behind it, and does that depend on how many there are?"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from accounting.ledger.rollups import rebuild
from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for, transaction
from accounting.storage.tables import usage_events
from accounting.storage.tariffs import seed_list_tariffs
from accounting.storage.tenants import create_key, create_tenant
from tests.bench.bench_ingest import NOW
from tests.served import served

SIZES = tuple(int(size) for size in os.environ.get("BENCH_REPORT_EVENTS", "1000000,10000000").split(","))
USERS = 1_000
CALLS = 40

_VALUES = {
    "tenant": "'bench'",
    "event_id": "'e' || n",
    "revision": "0",
    "occurred_at": "timestamptz '2026-07-01Z' + (random() * 31 * 86400) * interval '1 second'",
    "received_at": "now()",
    "booking_period": "'2026-07-01'",
    "provider": "'openai'",
    "model": "'model-' || (n % 10)",
    "status": "'ok'",
    "purpose": "(ARRAY['production','production','free','eval'])[1 + n % 4]",
    "user_id": f"'user-' || (n::bigint * 7919 % {USERS})",
    "seller": "(ARRAY['openai','anthropic','google'])[1 + n % 10 % 3]",
    "charge_status": "'priced'",
    "wire_format": "'native'",
    "basis": "'price_list'",
    "billing_currency": "'USD'",
    "sku_price_id": "1",
    "list_cost_e15": "2000000000000",
    "contracted_cost_e15": "2000000000000",
    "batch": "false",
    "usage_known": "true",
    "cache_read_known": "true",
    "body_hash": "''",
    "uncached_input_tokens": "1000",
    "output_tokens": "100",
}


def fill(owner: Engine, first: int, last: int) -> None:
    """Event rows straight into the table: the report reads rollups, which are then built from the ledger."""
    names = [column.name for column in usage_events.columns]
    values = [
        _VALUES.get(name, "0" if name.endswith(("_tokens", "_requests")) and name != "context_tokens" else "NULL")
        for name in names
    ]
    statement = f"INSERT INTO usage_events ({', '.join(names)}) SELECT {', '.join(values)} FROM generate_series({first}, {last}) AS n"
    with transaction(owner, "bench") as connection:
        connection.execute(text(statement))
    with transaction(owner, "bench") as connection:
        rebuild(connection, "bench", "UTC")


def _latency(url: str, key: str, path: str) -> dict[str, float]:
    """Milliseconds of CALLS sequential GETs after three that warm up."""
    taken = []
    with httpx.Client(headers={"authorization": f"Bearer {key}"}, timeout=60) as client:
        for number in range(CALLS + 3):
            started = time.perf_counter()
            answer = client.get(url + path)
            elapsed = (time.perf_counter() - started) * 1_000
            assert answer.status_code == 200, answer.text
            if number >= 3:
                taken.append(elapsed)
    return {"p50_ms": round(statistics.median(taken), 1), "p95_ms": round(statistics.quantiles(taken, n=20)[-1], 1)}


PATHS = {
    "cost-of-revenue month": "/v1/reports/cost-of-revenue?from=2026-07-01&to=2026-08-01",
    "cost-of-revenue local days": "/v1/reports/cost-of-revenue?from=2026-07-01&to=2026-08-01&tz=Asia/Kolkata&group_by=day",
    "user-margin": "/v1/reports/user-margin?from=2026-07-01&to=2026-08-01",
    "user-margin ten worst": "/v1/reports/user-margin?from=2026-07-01&to=2026-08-01&limit=10",
}


def run() -> dict[str, Any]:
    """Latencies at each size; `flat` is p95 at the largest over p95 at the smallest."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner = engine_for(server.owner_url)
    superuser = make_url(server.superuser_url).set(database=owner.url.database).render_as_string(hide_password=False)
    migrate.upgrade(owner, today=NOW.date())
    seed_list_tariffs(owner)
    create_tenant(owner, "bench", "Bench")
    key = create_key(owner, "bench", "viewer")
    results: dict[int, dict[str, dict[str, float]]] = {}
    rows: dict[int, dict[str, int]] = {}
    done = 0
    env = {"DATABASE_URL": server.app_url, "TOKENCOGS_OWNER_URL": server.owner_url}
    for size in SIZES:
        fill(owner, done + 1, size)
        done = size
        with engine_for(superuser).connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM (ANALYZE) rollup_15m, rollup_day"))
            connection.execute(text("VACUUM (ANALYZE) rollup_user_day"))
            rows[size] = {
                name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()
                for name in ("usage_events", "rollup_15m", "rollup_day", "rollup_user_day")
            }
        with served(env, folder) as api:
            results[size] = {name: _latency(api.url, key, path) for name, path in PATHS.items()}
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    smallest, largest = SIZES[0], SIZES[-1]
    return {
        "events": {str(size): results[size] for size in SIZES},
        "rows": {str(size): rows[size] for size in SIZES},
        "flat": {
            name: round(results[largest][name]["p95_ms"] / results[smallest][name]["p95_ms"], 2) for name in PATHS
        },
        "users": USERS,
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
