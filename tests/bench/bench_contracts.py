"""How long does a settlement run of a contract take, beside a bare sum of the same events?

Twelve months of events under one contract with a volume tier, a prepaid commitment and a credit. The first run appends every line.
Of the later ones, one has nothing new, one has an event of the last day (its month's tier moves every line of the month), one an event
of the first month (all that came after moves), and one is told to work out the whole term again, as every run once did.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from accounting.ledger.rollups import rebuild
from accounting.ledger.settle import settle
from accounting.pipeline import ingest
from accounting.pricing.contract import Commitment, Contract, Credit, Scope, VolumeStep, VolumeTier
from accounting.storage import embedded, migrate
from accounting.storage.contracts import record
from accounting.storage.engine import engine_for, read_only, transaction
from accounting.storage.tables import usage_events
from accounting.storage.tariffs import load_book, seed_list_tariffs
from accounting.storage.tenants import context, create_tenant
from tests.bench.bench_reprice import _VALUES
from tests.events import body, event

SIZE = int(os.environ.get("BENCH_CONTRACT_EVENTS", "1000000"))
USERS = int(os.environ.get("BENCH_CONTRACT_USERS", "1000"))
RUNS = {
    "first": None,
    "nothing new": None,
    "one of the last day": "2026-11-30T12:00:00Z",
    "one of the first month": "2025-12-01T12:00:00Z",
    "whole term": None,
}
"""Kind of run -> when the event came that is news to it."""
SINCE, DAYS = datetime(2025, 12, 1, tzinfo=UTC), 365
_ROW = "(SELECT min(sku_price_id) FROM tariffs WHERE seller = 'openai' AND model = 'o3' AND service_tier = 'default')"
_AT = f"timestamptz '{SINCE.isoformat()}' + (n * ({DAYS} * 86400.0 / {SIZE + 1})) * interval '1 second'"
_BULK = VolumeTier(
    "bulk", Scope(token_classes=frozenset({"uncached_input"})), None, (VolumeStep(10_000_000, "discount", "0.1"),)
)
_YEAR = {
    "occurred_at": _AT,
    "booking_period": f"date_trunc('month', {_AT})::date",
    "provider": "'openai'",
    "seller": "'openai'",
    "model": "'o3'",
    "user_id": f"'user-' || (n::bigint * 7919 % {USERS})",
    "sku_price_id": _ROW,
}
_SUM = text(
    "SELECT count(*), sum(contracted_cost_e15), sum(uncached_input_tokens) FROM usage_events WHERE tenant = 'bench'"
)


def _fill(owner: Engine) -> None:
    names = [column.name for column in usage_events.columns]
    values = [
        (_VALUES | _YEAR).get(
            name, "0" if name.endswith(("_tokens", "_requests")) and name != "context_tokens" else "NULL"
        )
        for name in names
    ]
    source = f"SELECT {', '.join(values)} FROM generate_series(1, {SIZE}) AS n"
    with transaction(owner, "bench") as connection:
        connection.execute(text(f"INSERT INTO usage_events ({', '.join(names)}) {source}"))
    with transaction(owner, "bench") as connection:
        rebuild(connection, "bench", "UTC")


def _agreed() -> Contract:
    parts: dict[str, Any] = {
        "volume_tiers": (_BULK,),
        "commitments": (Commitment("year", "prepaid", "500", SINCE.date(), date(2026, 11, 30)),),
        "credits": (Credit("start", "100", 1, SINCE),),
    }
    return Contract("k", "bench", "openai", "USD", SINCE, **parts)


def run() -> dict[str, Any]:
    """Seconds of each kind of run, lines appended by each, and the times over that of a bare sum of the events."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-bench-", dir="/var/tmp"))
    folder.chmod(0o711)
    server = embedded.attach(folder)
    owner, app = engine_for(server.owner_url), engine_for(server.app_url)
    migrate.upgrade(owner, today=SINCE.date())
    seed_list_tariffs(owner)
    create_tenant(owner, "bench", "Bench")
    _fill(owner)
    tenant = context(app, "bench")
    record(app, tenant, _agreed(), "bench")
    book = load_book(app, "bench")
    seconds: dict[str, float] = {}
    appended: dict[str, int] = {}
    for kind, day in RUNS.items():
        if day is not None:
            usage = {"input_tokens": 1_000, "output_tokens": 0}
            late = event(kind, provider="openai", model="o3", occurred_at=day, usage=usage)
            ingest(app, tenant, book, body([late]))
        started = time.perf_counter()
        appended[kind] = int(settle(app, tenant, whole=kind == "whole term")["charges"])
        seconds[kind] = time.perf_counter() - started
    with read_only(app, "bench") as connection:
        started = time.perf_counter()
        connection.execute(_SUM).one()
        bare = time.perf_counter() - started
    for engine in (owner, app):
        engine.dispose()
    embedded.detach(folder)
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    over = {kind: round(taken / bare, 1) for kind, taken in seconds.items()}
    taken = {kind: round(one, 2) for kind, one in (seconds | {"sum": bare}).items()}
    return {"events": SIZE, "appended": appended, "seconds": taken, "over_sum": over}
