"""What does the browser look at? API and dashboard as processes over one database, with the demo's product and a neighbour."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import httpx
import pytest

from accounting.demo import hosted, pool, workload
from accounting.demo.api import connected
from accounting.demo.load import put_plans, send_events
from accounting.storage.tenants import create_key, create_tenant
from tests.conftest import Database
from tests.events import event
from tests.served import Served, free_port

MONTHS = ((date(2026, 9, 1), 400), (date(2026, 10, 1), 1_200))
"""Month -> requests; October is the newest, so pages open with it."""
SOLD_EVERY = 6
"""Part of the demo's subscriptions that is made: each is a request of its own."""
POOL_FROM, POOL_UNTIL = date(2026, 10, 1), date(2026, 10, 8)
"""When the product's own machine runs; each of its hours is settled."""
OCTOBER = {"from": "2026-10-01", "to": "2026-11-01"}
START_SECONDS = 180.0


@dataclass(frozen=True)
class Stack:
    """Attributes: api, dashboard: addresses. key, other: admin keys of the tenants `demo` and `globex`. database."""

    api: str
    dashboard: str
    key: str
    other: str
    database: Database

    def get(self, path: str, **parameters: str) -> httpx.Response:
        """An answer of the API to the tenant `demo`."""
        answer = httpx.get(
            self.api + path,
            params=parameters,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=60,
            trust_env=False,
        )
        assert answer.status_code == 200, answer.text
        return answer


@contextmanager
def stack(database: Database, folder: Path) -> Iterator[Stack]:
    """Both processes, ready, with the demo's months in the database."""
    keys = []
    for tenant in ("demo", "globex"):
        create_tenant(database.owner, tenant, tenant.capitalize())
        keys.append(create_key(database.owner, tenant, "admin"))
    with _environment(database), _api(database, folder) as api, dashboard(api.url, folder) as url:
        made = Stack(api.url, url, keys[0], keys[1], database)
        _fill(made)
        yield made


@contextmanager
def _api(database: Database, folder: Path) -> Iterator[Served]:
    server = Served(database.env, free_port(), folder / "serve.log")
    try:
        server.wait_ready(START_SECONDS)
        yield server
    finally:
        server.stop()


@contextmanager
def _environment(database: Database) -> Iterator[None]:
    """The demo's own functions work on the environment's database."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in database.env.items():
            patch.setenv(name, value)
        yield


def _fill(made: Stack) -> None:
    with connected(made.api, made.key) as api:
        months = [workload.make(month, requests, 1) for month, requests in MONTHS]
        pool.prepare(hosted.measured(), POOL_FROM, POOL_UNTIL)
        for month in months:
            put_plans(api, replace(month, subscriptions=month.subscriptions[::SOLD_EVERY]))
            assert send_events(api, month).rejected == 0
    pool.bill_and_settle(POOL_FROM, POOL_UNTIL)
    secret = [event("g1", occurred_at="2026-10-07T10:00:00Z", user_id="globex-secret-user")]
    headers = {"Authorization": f"Bearer {made.other}"}
    httpx.post(f"{made.api}/v1/usage/events", json=secret, headers=headers, trust_env=False).raise_for_status()


@contextmanager
def dashboard(api: str, folder: Path, *options: str, port: int | None = None) -> Iterator[str]:
    """`tokencogs dashboard` on that or a free port; stopped at the end."""
    port = port or free_port()
    url, log = f"http://127.0.0.1:{port}", folder / "dashboard.log"
    command = [sys.executable, "-m", "accounting.cli", "dashboard", "--api", api, "--port", str(port), *options]
    # No key in its environment: readers sign in.
    env = {name: value for name, value in os.environ.items() if name != "TOKENCOGS_DASHBOARD_KEY"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait(process, f"{url}/_stcore/health", log)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-3000:]
        try:
            if httpx.get(url, timeout=2, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"the dashboard is not ready after {START_SECONDS:.0f} s:\n{log.read_text()[-3000:]}")
