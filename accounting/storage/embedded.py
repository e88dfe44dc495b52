"""How does a process get a real PostgreSQL without anything installed or configured?

attach() starts the server of a data folder, or joins the one that other processes use already, and prepares roles and
database. The server lives as long as some process is attached: each holds a shared kernel lock, so even kill -9 counts
as leaving, and a supervisor process stops the server cleanly when the last one is gone. A child made by fork() shares
the lock and so keeps the server until it ends or attaches by itself; a program started by exec does not.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from accounting.errors import ConfigurationError, StorageUnavailable, TokencogsError
from accounting.storage import pg_handshake
from accounting.storage.pg_bootstrap import APP, DATABASE, OWNER, prepare
from accounting.storage.pg_cluster import SUPERUSER
from accounting.storage.pg_handshake import State
from accounting.storage.pg_joining import reap, running


@dataclass(frozen=True)
class EmbeddedServer:
    """Where the embedded server is.

    Attributes:
        owner_url: SQLAlchemy URL of the login that owns the database `tokencogs`, for migrations and administration.
        app_url: SQLAlchemy URL of the application's login, which row-level security binds.
        superuser_url: SQLAlchemy URL of the superuser, on the maintenance database `postgres`.
        bin_dir: folder of the server's programs (`psql`, `pg_dump` where the installation has them).
        data_dir: the data folder with the cluster, the locks and the logs.
        server_version: as libpq counts it, 180006 for 18.6.
    """

    owner_url: str
    app_url: str
    superuser_url: str
    bin_dir: Path
    data_dir: Path
    server_version: int


@dataclass(frozen=True)
class _Hold:
    """One data folder that this process keeps alive: the locked descriptor, who locked it, and what was prepared."""

    lock: int
    pid: int
    prepared: State | None


_holds: dict[Path, _Hold] = {}


def attach(data_dir: Path | None = None, *, timeout: float = 60.0) -> EmbeddedServer:
    """Start or join the server of a data folder; it is ready, and stays until this process ends or calls detach().

    Cheap to call again; that is how a process gets a new server after its supervisor was killed. A server that
    crashed is restarted by the supervisor under the same URLs. Safe to call from several threads and processes at once.

    Args:
        data_dir: the data folder; by default TOKENCOGS_DATA, else `tokencogs` in the user's data folder (XDG).
        timeout: seconds to wait, recovery after a crash included.

    Raises:
        ConfigurationError: the platform, the data folder or the programs can't be used.
        StorageUnavailable: the server did not come up in time.
    """
    if not sys.platform.startswith("linux"):
        raise ConfigurationError(
            f"platform {sys.platform!r}: the embedded PostgreSQL needs Linux (flock, prctl, /proc); set DATABASE_URL"
        )
    data = _data_folder(data_dir)
    deadline = time.monotonic() + timeout
    with pg_handshake.start_lock(data, deadline), ExitStack() as undo:
        hold = _own_hold(data)
        if hold is None:
            hold = _take_hold(data, deadline)
            undo.callback(os.close, hold.lock)
        server, state = _join(data, hold.prepared, deadline)
        _holds[data] = _Hold(hold.lock, hold.pid, state)
        undo.pop_all()
        return server


def detach(data_dir: Path | None = None) -> None:
    """Let go of the server of a data folder, of every server of this process when None.

    Its own connections must be closed, or the shutdown ends them.
    """
    for data in [data_dir.resolve()] if data_dir is not None else list(_holds):
        hold = _holds.pop(data, None)
        if hold is not None:
            # Closed, not unlocked: processes forked from this one may share the descriptor and still need the server.
            os.close(hold.lock)
    reap()


def libpq_url(sqlalchemy_url: str) -> str:
    """The URL as psycopg.connect() and psql take it: without SQLAlchemy's driver name."""
    scheme, separator, rest = sqlalchemy_url.partition("://")
    if not separator or scheme not in ("postgresql", "postgresql+psycopg"):
        raise ConfigurationError(f"database URL with scheme {scheme if separator else None!r}: not postgresql+psycopg")
    return f"postgresql://{rest}"


def _data_folder(data_dir: Path | None) -> Path:
    chosen = data_dir or os.environ.get("TOKENCOGS_DATA")
    if not chosen:
        chosen = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "tokencogs"
    data = Path(chosen).absolute()
    try:
        # Root's server runs as another user, which must pass through the folder; the cluster within is private.
        data.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        return data.resolve()
    except OSError as error:
        raise ConfigurationError(f"data folder {str(data)!r}: {error.strerror}; set TOKENCOGS_DATA") from error


def _own_hold(data: Path) -> _Hold | None:
    """This process's hold; one that was inherited by fork() does not count, for the parent's is not ours to rely on."""
    hold = _holds.get(data)
    return hold if hold is not None and hold.pid == os.getpid() else None


def _take_hold(data: Path, deadline: float) -> _Hold:
    lock = pg_handshake.open_lock(data, pg_handshake.CLIENTS_LOCK)
    try:
        pg_handshake.wait_lock(lock, deadline, f"the shutdown of the server of {str(data)!r}", exclusive=False)
    except TokencogsError:
        os.close(lock)
        raise
    inherited = _holds.pop(data, None)
    if inherited is not None:
        os.close(inherited.lock)
    return _Hold(lock, os.getpid(), None)


def _join(data: Path, prepared: State | None, deadline: float) -> tuple[EmbeddedServer, State]:
    """The running server with its roles and database in place. Only under the start lock."""
    while True:
        state = running(data, deadline)
        server = _describe(data, state)
        if state == prepared:
            return server, state
        try:
            prepare(libpq_url(server.superuser_url))
        except psycopg.OperationalError as error:
            # It crashed just now; its supervisor brings it back under a new state.
            if time.monotonic() > deadline:
                raise StorageUnavailable(f"embedded PostgreSQL of {str(data)!r}: {error}") from error
            time.sleep(pg_handshake.WAIT_STEP_S)
        else:
            return server, state


def _describe(data: Path, state: State) -> EmbeddedServer:
    wanted = os.environ.get("TOKENCOGS_PG_BIN")
    if wanted and str(Path(wanted).resolve()) != state.chosen_bin_dir:
        raise ConfigurationError(
            f"TOKENCOGS_PG_BIN={wanted!r}: the running server of {str(data)!r} uses {state.chosen_bin_dir!r}"
        )

    def url(login: str, database: str) -> str:
        return f"postgresql+psycopg://{login}@/{database}?host={quote(state.socket_dir)}&port={state.port}"

    return EmbeddedServer(
        owner_url=url(OWNER, DATABASE),
        app_url=url(APP, DATABASE),
        superuser_url=url(SUPERUSER, "postgres"),
        bin_dir=Path(state.bin_dir),
        data_dir=data,
        server_version=state.server_version,
    )
