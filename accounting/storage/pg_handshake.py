"""How do the clients and the supervisor of one data folder agree on who runs, who waits and where the server is?

Three kernel locks (flock), which a kill -9 releases like any other end, and one state file:

- `start.lock`: exclusive, held by a client while it looks, starts a supervisor and prepares the database.
- `clients.lock`: shared, held by every client for its life. The supervisor tries it exclusively to see whether any
  is left, and keeps it exclusively while it shuts down, so that a newcomer waits instead of joining a dying server.
- `supervisor.lock`: exclusive, held by the supervisor for its life.
- `state.json`: where the ready server is, or why there is none. Written only by the holder of `supervisor.lock` and
  removed before a new supervisor is started, so while that lock is held the file is never an old one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from accounting.errors import ConfigurationError, StorageUnavailable

if sys.platform != "win32":  # where DATABASE_URL still works, so importing this must
    import fcntl

START_LOCK = "start.lock"
CLIENTS_LOCK = "clients.lock"
SUPERVISOR_LOCK = "supervisor.lock"
STATE_FILE = "state.json"
WAIT_STEP_S = 0.02


@dataclass(frozen=True)
class State:
    """What the supervisor tells its clients.

    Attributes:
        supervisor_pid: process id of the supervisor that wrote it.
        postmaster_pid: process id of the ready server; 0 after a failure.
        socket_dir: folder of the Unix socket; empty after a failure.
        port: number in the socket's name.
        bin_dir: the programs in use (a copy, where the chosen ones could not be reached by the server's user).
        chosen_bin_dir: the programs as they were found.
        server_version: as libpq counts it, 180006 for 18.6.
        error: why there is no server; None when it is ready.
        misconfigured: whether `error` is for the user to put right (ConfigurationError) or not (StorageUnavailable).
    """

    supervisor_pid: int
    postmaster_pid: int = 0
    socket_dir: str = ""
    port: int = 0
    bin_dir: str = ""
    chosen_bin_dir: str = ""
    server_version: int = 0
    error: str | None = None
    misconfigured: bool = False


def open_lock(data: Path, name: str) -> int:
    """File descriptor of a lock file, closed in programs that are started (O_CLOEXEC), readable by its owner only."""
    try:
        return os.open(data / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(f"data folder {str(data)!r}: can't open {name}: {error.strerror}") from error


def try_lock(fd: int, *, exclusive: bool) -> bool:
    """Take the lock, shared or exclusive, without waiting; False when another holds it against us."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ConfigurationError(f"data folder: its file system can't lock files: {error.strerror}") from error
    return True


def unlock(fd: int) -> None:
    """Release the lock for every process that shares this descriptor through fork()."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def wait_lock(fd: int, deadline: float, what: str, *, exclusive: bool) -> None:
    """Take a lock, or raise StorageUnavailable saying `what` was waited for once time.monotonic() passes `deadline`."""
    while not try_lock(fd, exclusive=exclusive):
        if time.monotonic() > deadline:
            raise StorageUnavailable(f"embedded PostgreSQL: timed out waiting for {what}")
        time.sleep(WAIT_STEP_S)


@contextmanager
def start_lock(data: Path, deadline: float) -> Iterator[None]:
    """One starter at a time, among processes and among threads.

    Unlocked explicitly: a child forked by another thread meanwhile shares the descriptor and must not keep the lock.
    """
    fd = open_lock(data, START_LOCK)
    try:
        wait_lock(fd, deadline, f"another process that starts the server of {str(data)!r}", exclusive=True)
        try:
            yield
        finally:
            unlock(fd)
    finally:
        os.close(fd)


def read_state(data: Path) -> State | None:
    """The supervisor's last word, None when it has not spoken yet."""
    try:
        text = (data / STATE_FILE).read_text("utf-8")
    except FileNotFoundError:
        return None
    return State(**json.loads(text))


def write_state(data: Path, state: State) -> None:
    """Publish atomically; only for the holder of the supervisor lock."""
    draft = data / (STATE_FILE + ".new")
    draft.unlink(missing_ok=True)
    draft.write_text(json.dumps(asdict(state)), "utf-8")
    draft.replace(data / STATE_FILE)


def clear_state(data: Path) -> None:
    """Say that there is no server; only for the holder of the supervisor lock."""
    (data / STATE_FILE).unlink(missing_ok=True)
