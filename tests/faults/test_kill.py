"""Nothing acknowledged is lost or counted twice, whatever is killed and whenever."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from accounting.ledger.check import check
from accounting.storage import embedded
from accounting.storage.engine import engine_for, transaction
from accounting.storage.tenants import context, create_key, create_tenant
from tests.conftest import Database
from tests.faults.load import Load
from tests.served import Served, free_port, served

pytestmark = pytest.mark.storage

POSTGRES_KILLS = 5


def _assert_once_and_exact(app_url: str, tenant: str, acknowledged: list[str]) -> None:
    engine = engine_for(app_url)
    with transaction(engine, tenant) as connection:
        stored = Counter(connection.execute(text("SELECT event_id FROM usage_events")).scalars())
    assert len(acknowledged) == len(set(acknowledged))
    assert {one for one in acknowledged if one not in stored} == set()
    assert {one: times for one, times in stored.items() if times != 1} == {}
    assert [line for line in check(engine, context(engine, tenant)) if line.differs] == []


@pytest.mark.one_server
@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_killing_the_api_loses_no_acknowledged_event(kills: int, database: Database, tmp_path: Path) -> None:
    tenant = f"apikill{kills}"
    create_tenant(database.owner, tenant, "API killed")
    key = create_key(database.owner, tenant, "ingest")
    port = free_port()
    dice = random.Random(7)
    load = Load(f"http://127.0.0.1:{port}", key, retry=True)
    counted, in_flight = 0, []
    for _ in range(kills * 3):
        server = Served(database.env, port, tmp_path / "serve.log")
        server.wait_ready()
        load.start()
        time.sleep(dice.uniform(0.1, 0.6))
        waiting = load.in_flight
        server.kill()
        load.stop()
        if waiting:
            counted += 1
            in_flight.append(waiting)
        if counted == kills:
            break
    print(
        f"kills with a batch in flight: {counted}, batches in flight at each: {in_flight}, acknowledged: {len(load.acknowledged)}"
    )
    assert counted == kills
    assert load.unanswered >= kills
    with served(database.env, tmp_path) as server:
        load.url = server.url
        load.start()
        time.sleep(0.3)
        load.stop()
    _assert_once_and_exact(database.app_url, tenant, load.acknowledged)


def _postmaster(data: Path) -> int:
    files = set(data.rglob("postmaster.pid"))
    assert len(files) == 1, files
    return int(files.pop().read_text().splitlines()[0])


def test_killing_postgres_loses_no_acknowledged_event(data_folder: Path, tmp_path: Path) -> None:
    own = {"TOKENCOGS_DATA": str(data_folder), "DATABASE_URL": "", "TOKENCOGS_OWNER_URL": ""}
    with served(own, tmp_path) as server:
        known = embedded.attach(data_folder)
        try:
            owner = engine_for(known.owner_url)
            create_tenant(owner, "pgkill", "PostgreSQL killed")
            load = Load(server.url, create_key(owner, "pgkill", "ingest"), batch=200)
            owner.dispose()
            dice = random.Random(11)
            load.start()
            for _ in range(POSTGRES_KILLS):
                time.sleep(dice.uniform(0.4, 1.0))
                before = len(load.acknowledged)
                os.kill(_postmaster(known.data_dir), signal.SIGKILL)
                deadline = time.monotonic() + 60
                while len(load.acknowledged) == before and time.monotonic() < deadline:
                    time.sleep(0.05)
                assert len(load.acknowledged) > before, (
                    f"nothing stored within 60 s of the kill; statuses {Counter(load.statuses)}"
                )
            load.stop()
            embedded.attach(data_folder)  # ready again: a batch sent before the last kill may have ended the wait
            print(
                f"kills: {POSTGRES_KILLS}, acknowledged: {len(load.acknowledged)}, other answers: {Counter(load.statuses)}"
            )
            assert set(load.statuses) <= {429, 503}
            assert load.unanswered == 0
            _assert_once_and_exact(known.app_url, "pgkill", load.acknowledged)
        finally:
            engine_for(known.app_url).dispose()
            embedded.detach(data_folder)


@pytest.mark.one_server
def test_four_writers_with_unsorted_users_never_see_a_deadlock(database: Database, tmp_path: Path) -> None:
    create_tenant(database.owner, "deadlock", "Unsorted writers")
    key = create_key(database.owner, "deadlock", "ingest")
    with served(database.env, tmp_path) as one, served(database.env, tmp_path) as two:
        loads = [Load(one.url, key, threads=2, most_batches=40), Load(two.url, key, threads=2, most_batches=40)]
        for load in loads:
            load.start()
        for load in loads:
            for worker in load._workers:
                worker.join(120)
        assert [status for load in loads for status in load.statuses if status != 429] == []
        assert sum(load.unanswered for load in loads) == 0
    with psycopg.connect(embedded.libpq_url(database.owner_url)) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
    print(f"deadlocks the server saw and the writer tried again: {row and row[0]}")
    _assert_once_and_exact(database.app_url, "deadlock", [one for load in loads for one in load.acknowledged])
