"""`tokencogs serve` as a process: what it needs, what it says, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import httpx
import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, text

from accounting.cli import main
from accounting.errors import Conflict
from accounting.storage.engine import transaction
from accounting.storage.tenants import create_tenant
from accounting.tenant import TenantContext
from api.cli import serve
from api.settings import Settings
from tests.api.serving import running
from tests.conftest import Database, Server

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


Refused = Callable[..., tuple[int, str]]
COMMAND = [sys.executable, "-m", "accounting.cli", "serve", "--port", "0"]


def _environment(urls: dict[str, str]) -> dict[str, str]:
    """This process's environment with these database URLs and no others."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_URL")} | urls


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[Refused]:
    """Exit code and stderr of a server that does not come up, run in this process."""
    before = signal.getsignal(signal.SIGTERM)

    def run(urls: dict[str, str], *options: str) -> tuple[int, str]:
        for name in ("DATABASE_URL", "TOKENCOGS_OWNER_URL"):
            monkeypatch.delenv(name, raising=False)
        result = CliRunner(env=urls).invoke(main, ["serve", "--port", "0", *options])
        return result.exit_code, result.stderr

    yield run
    signal.signal(signal.SIGTERM, before)


def test_help_has_an_example() -> None:
    text_of_help = CliRunner().invoke(serve, ["--help"]).output
    assert "Example:" in text_of_help
    assert "tokencogs serve --port 8000" in text_of_help


@pytest.mark.parametrize(
    "logins", [("DATABASE_URL", "TOKENCOGS_OWNER_URL"), ("DATABASE_URL",)], ids=["both", "app-only"]
)
def test_it_says_where_it_serves_and_ctrl_c_ends_it_well(database: Database, logins: tuple[str, ...]) -> None:
    environment = _environment({name: database.env[name] for name in logins})
    with subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", serving.stdout.readline())
        assert found
        assert httpx.get(f"{found.group()}/readyz", trust_env=False).json() == {"status": "ready"}
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 0


def test_a_database_without_the_schema_is_refused_with_what_to_run(server: Server, refused: Refused) -> None:
    name = f"empty_{uuid.uuid4().hex[:12]}"
    server.admin(f"CREATE DATABASE {name} OWNER tokencogs_owner")
    try:
        code, said = refused(
            {"DATABASE_URL": server.url(name, "tokencogs"), "TOKENCOGS_OWNER_URL": server.url(name, "tokencogs_owner")}
        )
    finally:
        server.admin(f"DROP DATABASE {name} WITH (FORCE)")
    assert code == 1
    assert "run `tokencogs db upgrade`" in said
    assert "Traceback" not in said


def test_the_owners_login_is_refused_as_the_applications(database: Database, refused: Refused) -> None:
    code, said = refused({"DATABASE_URL": database.owner_url, "TOKENCOGS_OWNER_URL": database.owner_url})
    assert code == 2
    assert "row-level security would not hold" in said


def test_settlement_in_the_process_needs_the_owners_login(database: Database, refused: Refused) -> None:
    code, said = refused({"DATABASE_URL": database.app_url}, "--with-settlement")
    assert code == 2
    assert "TOKENCOGS_OWNER_URL" in said


def test_settlement_in_the_process_runs_for_every_tenant(database: Database) -> None:
    for tenant in ("settleone", "settletwo"):
        create_tenant(database.owner, tenant, tenant)
    with running(database, Settings(settlement_seconds=0.2)):
        deadline = time.monotonic() + 20
        runs = {"settleone": 0, "settletwo": 0}
        while not all(runs.values()) and time.monotonic() < deadline:
            for tenant in runs:
                with transaction(database.app, tenant) as connection:
                    runs[tenant] = connection.execute(text("SELECT count(*) FROM settlement_runs")).scalar_one()
            time.sleep(0.05)
    assert all(runs.values()), runs


def test_a_tenant_whose_settlement_fails_keeps_no_other_one_from_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant in ("afails", "works"):
        create_tenant(database.owner, tenant, tenant)
    settled: list[str] = []

    def settle(_engine: Engine, tenant: TenantContext) -> None:
        if tenant.tenant == "afails":
            raise Conflict("another run is at work")
        settled.append(tenant.tenant)

    monkeypatch.setattr("api.service.settle", settle)
    with running(database, Settings(settlement_seconds=60)):
        deadline = time.monotonic() + 20
        while "works" not in settled and time.monotonic() < deadline:
            time.sleep(0.05)
    assert "works" in settled


def test_partitions_are_made_ahead_by_a_running_server(database: Database) -> None:
    with database.owner.begin() as connection:
        connection.execute(text("SELECT set_config('tokencogs.tenant', 'x', true)"))
        newest = connection.execute(
            text(
                "SELECT max(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'usage_events'::regclass "
                "AND inhrelid::regclass::text ~ '_[0-9]{4}_[0-9]{2}$'"
            )
        ).scalar_one()
        connection.execute(text(f"DROP TABLE {newest}"))
    with running(database):
        deadline = time.monotonic() + 20
        made = None
        while made is None and time.monotonic() < deadline:
            with database.owner.connect() as connection:
                made = connection.execute(text("SELECT to_regclass(:name)"), {"name": newest}).scalar_one()
            time.sleep(0.05)
    assert made == newest
