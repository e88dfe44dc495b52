"""How fast is the whole line, HTTP to committed, priced and rolled up, beside a bare COPY-and-merge of the same columns?"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pyarrow as pa
from sqlalchemy import text
from sqlalchemy.engine import make_url

from accounting.ledger.check import check
from accounting.ledger.first_charge import first_charges
from accounting.ledger.stage import SCHEMA, STAGED, STAGED_CAST, copy_to_stage
from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for, transaction
from accounting.storage.tariffs import load_book, seed_list_tariffs
from accounting.storage.tenants import context, create_key, create_tenant
from accounting.usage.columns import prepare
from tests.served import served

BATCH = 1_000
BATCHES = 150
CLIENTS = 16
NOW = datetime(2026, 9, 1, tzinfo=UTC)
MODELS = [
    ("openai", "gpt-5.6-luna"),
    ("openai", "gpt-5.4"),
    ("openai", "o3"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-4-6"),
    ("google", "gemini-2.5-flash"),
]


def _bodies(span: timedelta, seed: int) -> list[bytes]:
    """Batches of events spread evenly over the span in arrival order, users with a heavy tail."""
    dice = random.Random(seed)
    total = BATCHES * BATCH
    start = datetime(2026, 7, 1, 8, tzinfo=UTC)
    bodies = []
    for first in range(0, total, BATCH):
        events = []
        for number in range(first, first + BATCH):
            provider, model = MODELS[min(int(dice.expovariate(0.7)), len(MODELS) - 1)]
            fresh, cached = dice.randint(50, 8_000), dice.choice([0, 0, 1_024, 4_096])
            events.append(
                {
                    "event_id": f"{seed}-{dice.getrandbits(96):024x}",
                    # Over a month the batches are unsorted: each one touches every day.
                    "occurred_at": (
                        start + span * (number / total if span < timedelta(days=1) else dice.random())
                    ).isoformat(),
                    "completed_at": (start + span + timedelta(seconds=9)).isoformat(),
                    "provider": provider,
                    "surface": "chat_completions",
                    "model": model,
                    "status": "ok",
                    "account_id": f"acct-{int(dice.paretovariate(1.2)) % 300}",
                    "user_id": f"user-{int(dice.paretovariate(1.1)) % 1_000}",
                    "feature": dice.choice(["chat", "search", "agent"]),
                    "purpose": dice.choice(["production"] * 8 + ["free", "eval"]),
                    "trace_id": f"{dice.getrandbits(128):032x}",
                    "tags": {"region": "eu", "team": "core"},
                    "usage": {
                        "input_tokens": fresh + cached,
                        "cache_read_tokens": cached,
                        "output_tokens": dice.randint(1, 900),
                    },
                }
            )
        bodies.append(json.dumps(events).encode())
    return bodies


def _end_to_end(url: str, key: str, bodies: list[bytes]) -> float:
    """Events a second from the first byte sent to the last acknowledgement."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    local = threading.local()

    def send(body: bytes) -> int:
        if not hasattr(local, "client"):
            local.client = httpx.Client(timeout=120)
        while True:
            answer = local.client.post(f"{url}/v1/usage/events", content=body, headers=headers)
            if answer.status_code != 429:
                break
            time.sleep(0.05)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["accepted"])

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        accepted = sum(clients.map(send, bodies))
    seconds = time.perf_counter() - started
    assert accepted == len(bodies) * BATCH
    return accepted / seconds


def _bare_table(connection: psycopg.Connection[Any], name: str) -> None:
    connection.execute(f"CREATE TABLE {name} (LIKE usage_events INCLUDING DEFAULTS) PARTITION BY RANGE (occurred_at)")
    connection.execute(f"CREATE TABLE {name}_7 PARTITION OF {name} FOR VALUES FROM ('2026-07-01Z') TO ('2026-08-01Z')")
    connection.execute(f"CREATE TABLE {name}_8 PARTITION OF {name} FOR VALUES FROM ('2026-08-01Z') TO ('2026-09-01Z')")
    for part in ("7", "8"):
        connection.execute(f"CREATE UNIQUE INDEX ON {name}_{part} (tenant, event_id)")
    connection.commit()


def _bare(url: str, name: str, staged: list[pa.RecordBatch]) -> float:
    """Events a second of COPY to a temporary table and one INSERT ... ON CONFLICT DO NOTHING, one connection, a commit a batch."""
    with psycopg.connect(embedded.libpq_url(url)) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        _bare_table(connection, name)
        insert = (
            f"INSERT INTO {name} (tenant, received_at, raw_batch, {STAGED}) SELECT 'bench', now(), 1, {STAGED_CAST} FROM stage "
            "ON CONFLICT DO NOTHING"
        )
        started = time.perf_counter()
        for batch in staged:
            copy_to_stage(connection, batch)
            connection.execute(insert)
            connection.commit()
        seconds = time.perf_counter() - started
        rows = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
        assert rows == (sum(batch.num_rows for batch in staged),)
        connection.execute(f"DROP TABLE {name}")
        connection.commit()
    return sum(batch.num_rows for batch in staged) / seconds


def _regroup(staged: list[pa.RecordBatch], size: int) -> list[pa.RecordBatch]:
    table = pa.Table.from_batches(staged, SCHEMA).combine_chunks()
    return list(table.to_batches(max_chunksize=size))


def run(rounds: int = 3) -> dict[str, Any]:
    """Medians of interleaved rounds; ratios are of the medians."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner = engine_for(server.owner_url)
    superuser = make_url(server.superuser_url).set(database=owner.url.database).render_as_string(hide_password=False)
    migrate.upgrade(owner, today=NOW.date())
    seed_list_tariffs(owner)
    create_tenant(owner, "bench", "Bench")
    key = create_key(owner, "bench", "ingest")
    tenant = context(engine_for(server.app_url), "bench")
    book = load_book(engine_for(server.app_url), "bench")
    spans = {"two_hours": timedelta(hours=2), "month": timedelta(days=30)}
    rates: dict[str, list[float]] = {"bare_1000": [], "bare_10000": [], **{name: [] for name in spans}}
    env = {"DATABASE_URL": server.app_url, "TOKENCOGS_OWNER_URL": server.owner_url}
    with served(env, folder) as api:
        _end_to_end(api.url, key, _bodies(timedelta(hours=1), 999)[:20])
        for number in range(rounds):
            for name, span in spans.items():
                bodies = _bodies(span, 2 * number + (name == "month"))
                rates[name].append(_end_to_end(api.url, key, bodies))
                staged = [first_charges(prepare(body, ndjson=False, now=NOW).batch, book, tenant)[0] for body in bodies]
                rates["bare_1000"].append(_bare(superuser, f"bare_{name}_{number}_1", staged))
                rates["bare_10000"].append(_bare(superuser, f"bare_{name}_{number}_10", _regroup(staged, 10_000)))
    assert [line for line in check(engine_for(server.app_url), tenant) if line.differs] == []
    with transaction(engine_for(server.app_url), "bench") as connection:
        unpriced = connection.execute(
            text("SELECT count(*) FROM usage_events WHERE charge_status <> 'priced'")
        ).scalar_one()
    assert unpriced == 0
    middle = {name: statistics.median(values) for name, values in rates.items()}
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "ratio": round(middle["two_hours"] / middle["bare_1000"], 3),
        "ratio_month": round(middle["month"] / middle["bare_1000"], 3),
        "ratio_to_bare_10000": round(middle["two_hours"] / middle["bare_10000"], 3),
        "events_per_second": {name: round(value) for name, value in middle.items()},
        "rounds": {name: [round(value) for value in values] for name, values in rates.items()},
        "batch_events": BATCH,
        "clients": CLIENTS,
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
