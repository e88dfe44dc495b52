"""Does the worker settle every tenant, tell what failed, and end when told?"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accounting.storage.tenants import create_tenant
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


def start(database: Database, log: Path, *words: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "accounting.cli", "worker", *words],
            env={**os.environ, **database.env},
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def test_it_settles_every_tenant_touches_its_heartbeat_and_ends_on_sigterm(database: Database, tmp_path: Path) -> None:
    for name in ("acme", "globex"):
        create_tenant(database.owner, name, name)
    log, heartbeat = tmp_path / "log", tmp_path / "alive"
    process = start(database, log, "--every", "1", "--heartbeat", str(heartbeat))
    deadline = time.monotonic() + 60
    while not heartbeat.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [line.partition(":")[0] for line in log.read_text().splitlines()] == ["acme", "globex"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def test_without_the_owners_login_it_says_what_it_needs(database: Database, tmp_path: Path) -> None:
    log = tmp_path / "log"
    env = {name: value for name, value in database.env.items() if name != "TOKENCOGS_OWNER_URL"}
    with log.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "accounting.cli", "worker", "--once"],
            env={**os.environ, **env, "TOKENCOGS_OWNER_URL": ""},
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    assert done.returncode == 2
    assert "TOKENCOGS_OWNER_URL is not set" in log.read_text()
