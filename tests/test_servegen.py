"""Derived requests of 73 tenants' real rates through the API, twice, shuffled, by four writers: counted once.

The slow run sends all 276,765 of them.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from accounting.ledger.check import check
from accounting.storage.engine import transaction
from accounting.storage.tenants import context, create_key, create_tenant
from tests.conftest import Database
from tests.served import served
from tests.shared_data import shared

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

ROWS = 276_765
START = datetime(2026, 8, 3, tzinfo=UTC)


def _events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", newline="") as file:
        return [
            {
                "event_id": f"servegen-{number}",
                "occurred_at": (START + timedelta(seconds=float(row["t_s"]))).isoformat(),
                "provider": "deepseek",
                "model": "deepseek-chat",
                "status": "ok",
                "user_id": f"client-{row['client_id']}",
                "usage": {
                    "input_tokens": int(row["input_tokens"]),
                    "output_tokens": int(row["output_tokens"]),
                    "reasoning_tokens": int(row["reasoning_tokens"]),
                },
            }
            for number, row in enumerate(csv.DictReader(file))
        ]


@pytest.mark.parametrize("rows", [20_000, pytest.param(ROWS, marks=pytest.mark.slow)])
def test_a_day_sent_twice_by_four_writers_is_counted_once(rows: int, database: Database, tmp_path: Path) -> None:
    events = _events(shared("servegen/derived_requests_deepseek-r1_day0_20pct.csv.gz"))
    assert len(events) == ROWS
    events, tenant = events[:rows], f"servegen{rows}"
    create_tenant(database.owner, tenant, "ServeGen")
    headers = {
        "authorization": f"Bearer {create_key(database.owner, tenant, 'ingest')}",
        "content-type": "application/json",
    }
    dice = random.Random(5)
    bodies = []
    for _ in range(2):
        dice.shuffle(events)
        bodies += [json.dumps(events[first : first + 1_000]).encode() for first in range(0, rows, 1_000)]
    dice.shuffle(bodies)
    with served(database.env, tmp_path) as server, httpx.Client(timeout=120, headers=headers) as client:

        def send(body: bytes) -> tuple[int, int, int, int]:
            while True:
                answer = client.post(f"{server.url}/v1/usage/events", content=body)
                if answer.status_code != 429:
                    break
            assert answer.status_code == 200, answer.text
            row = answer.json()
            return row["accepted"], row["duplicates"], len(row["conflicts"]), len(row["rejected"])

        with ThreadPoolExecutor(4) as writers:
            sums = [sum(column) for column in zip(*writers.map(send, bodies), strict=True)]
    assert sums == [rows, rows, 0, 0]
    with transaction(database.app, tenant) as connection:
        query = "SELECT count(*), count(DISTINCT event_id), sum(output_tokens) FROM usage_events"
        stored = tuple(connection.execute(text(query)).one())
    assert stored == (rows, rows, sum(one["usage"]["output_tokens"] for one in events))
    lines = check(database.app, context(database.app, tenant))
    assert [line for line in lines if line.differs] == []
