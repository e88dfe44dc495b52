"""Which database does a test run on? A real PostgreSQL, migrated once into a template, copied for each module.

The server is the embedded one in a folder of the run (shared by all workers); `TOKENCOGS_TEST_SERVER` names another by a
superuser's URL. `TOKENCOGS_PG_BIN` chooses the embedded server's version, so the storage tests run on each installed one.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL, make_url

from accounting.storage import embedded, migrate
from accounting.storage.engine import engine_for
from accounting.storage.tariffs import seed_list_tariffs

SERVER_NOTE = "server-folder"
_FORGETFUL = (
    "ALTER ROLE ALL SET synchronous_commit = off",
    "ALTER ROLE ALL SET wal_compression = off",
    "ALTER SYSTEM SET autovacuum_naptime = '1h'",
    "SELECT pg_reload_conf()",
)
"""The run's server dies with the run. What must outlast a crash is tested on servers of their own (tests/faults)."""

# Collecting the tests makes 700,000 objects that stay, and nothing to throw away.
gc.disable()


def pytest_collection_finish() -> None:
    """Leaves what the collection made out of every later garbage collection: those took a fifth of the tests' processor time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(2_000, 20, 50)
    gc.enable()


@dataclass(frozen=True)
class Database:
    """One migrated database. Attributes: owner_url, app_url: SQLAlchemy URLs of the two logins; name of the database."""

    name: str
    owner_url: str
    app_url: str
    superuser_url: str

    @property
    def owner(self) -> Engine:
        return engine_for(self.owner_url)

    @property
    def app(self) -> Engine:
        return engine_for(self.app_url)

    @property
    def env(self) -> dict[str, str]:
        """Environment in which a `tokencogs` process uses this database."""
        return {"DATABASE_URL": self.app_url, "TOKENCOGS_OWNER_URL": self.owner_url}


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """A `TOKENCOGS_DATA` for a server of the test's own, which the server's user can reach; pytest's own folders it can't."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-tests-", dir="/var/tmp"))
    folder.chmod(0o711)
    yield folder
    _remove_when_stopped(folder)


def _remove_when_stopped(folder: Path) -> None:
    """Removes a server's folder once its last client has left and it has stopped."""
    deadline = time.monotonic() + 20
    while list(folder.rglob("postmaster.pid")) and time.monotonic() < deadline:
        time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Server:
    superuser: URL

    def url(self, database: str, login: str) -> str:
        return self.superuser.set(database=database, username=login, password=None).render_as_string(
            hide_password=False
        )

    def admin(self, statement: str) -> None:
        url = self.superuser.set(drivername="postgresql", database="postgres").render_as_string(hide_password=False)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def server(run_folder: Path) -> Server:
    """The server of this run, with the two logins and the role of the application."""
    given = os.environ.get("TOKENCOGS_TEST_SERVER")
    if given:
        return Server(make_url(given).set(drivername="postgresql+psycopg"))
    with (run_folder / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        note = run_folder / SERVER_NOTE
        if not note.exists():
            folder = tempfile.mkdtemp(prefix="tokencogs-tests-", dir="/var/tmp")
            Path(folder).chmod(0o755)  # the server's own user must reach it
            note.write_text(folder)
        running = Server(make_url(embedded.attach(Path(note.read_text())).superuser_url))
        for statement in _FORGETFUL:
            running.admin(statement)
    return running


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Removes the run's server once every worker has left it."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return
    factory: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
    note = factory.getbasetemp() / SERVER_NOTE
    if note.exists():
        embedded.detach()
        _remove_when_stopped(Path(note.read_text()))


@pytest.fixture(scope="session")
def template(server: Server, run_folder: Path) -> str:
    """Name of a migrated, seeded database that no one connects to; made once for all workers."""
    stamp = run_folder / "template"
    with (run_folder / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            name = f"template_{uuid.uuid4().hex[:12]}"
            server.admin(f"CREATE DATABASE {name} OWNER tokencogs_owner")
            engine = create_engine(server.url(name, "tokencogs_owner"))
            migrate.upgrade(engine)
            seed_list_tariffs(engine)
            engine.dispose()
            stamp.write_text(name)
    return stamp.read_text()


@pytest.fixture(scope="session")
def make_database(server: Server, template: str) -> Iterator[Callable[[], Database]]:
    """Makes migrated databases; on a server that outlives the run they are dropped."""
    made: list[str] = []

    def make() -> Database:
        name = f"test_{uuid.uuid4().hex[:12]}"
        server.admin(f"CREATE DATABASE {name} TEMPLATE {template} OWNER tokencogs_owner")
        made.append(name)
        return Database(
            name, server.url(name, "tokencogs_owner"), server.url(name, "tokencogs"), server.url(name, "postgres")
        )

    yield make
    for name in made if os.environ.get("TOKENCOGS_TEST_SERVER") else []:
        server.admin(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def database(make_database: Callable[[], Database]) -> Iterator[Database]:
    """One database for the tests of a module; its connections end with the module, as the run's server has only so many."""
    made = make_database()
    yield made
    for url in (made.owner_url, made.app_url, made.superuser_url):
        engine_for(url).dispose()
