"""SIGTERM drains: what was acknowledged is there, what is in work is finished, and the process ends with 0."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from accounting.storage.engine import transaction
from tests.api.serving import make_keys
from tests.conftest import Database
from tests.events import body, event
from tests.served import served

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

URL = "/v1/usage/events"


def _client(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"x-api-key": key}, timeout=30, trust_env=False)


def _stored(database: Database, tenant: str) -> list[str]:
    with transaction(database.app, tenant) as connection:
        return list(connection.execute(text("SELECT event_id FROM usage_events ORDER BY event_id")).scalars())


def test_a_batch_in_work_is_finished_and_acknowledged(database: Database, tmp_path: Path) -> None:
    key = make_keys(database, "drainone")["ingest"]
    with (
        served(database.env, tmp_path) as server,
        _client(server.url, key) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        assert client.post(URL, content=body([event("before")])).json()["accepted"] == 1
        with transaction(database.owner, "drainone") as connection:
            # Holds the batch inside its transaction, so that the signal surely finds it in work.
            connection.execute(text("LOCK TABLE event_ids IN SHARE MODE"))
            held = pool.submit(lambda: client.post(URL, content=body([event("in-work")])))
            while (
                b"tokencogs_ingest_waiting_events 1.0"
                not in httpx.get(f"{server.url}/metrics", trust_env=False).content
            ):
                time.sleep(0.02)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            assert server.process.poll() is None
            assert not held.done()
        assert held.result().json() == {"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}
        assert server.process.wait(20) == 0
        with pytest.raises(httpx.ConnectError):
            client.post(URL, content=body([event("after")]))
    assert _stored(database, "drainone") == ["before", "in-work"]


def test_under_load_every_acknowledged_event_is_there_once(database: Database, tmp_path: Path) -> None:
    key = make_keys(database, "draintwo")["ingest"]
    acknowledged: list[str] = []
    lost = threading.Event()

    def send(url: str, writer: int) -> None:
        with _client(url, key) as client:
            for batch in itertools.count():
                names = [f"{writer}-{batch}-{number}" for number in range(200)]
                try:
                    answer = client.post(URL, content=body(map(event, names)))
                except httpx.TransportError:
                    lost.set()
                    return
                if answer.status_code == 429:
                    continue
                assert answer.json()["accepted"] == 200
                acknowledged.extend(names)

    with served(database.env, tmp_path) as server, ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(send, server.url, number) for number in range(4)]
        while len(acknowledged) < 2000:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        for writer in writers:
            writer.result()
    stored = _stored(database, "draintwo")
    assert lost.is_set()
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
