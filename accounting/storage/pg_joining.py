"""How does a client find the running server of a data folder, or start the supervisor that brings it?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from accounting.errors import ConfigurationError, StorageUnavailable
from accounting.storage import pg_handshake
from accounting.storage.pg_handshake import State

_LOG = "supervisor.log"
_LOG_LIMIT_BYTES = 1024 * 1024
_started: list[subprocess.Popen[bytes]] = []


def running(data: Path, deadline: float) -> State:
    """Wait for a ready server, and start a supervisor when there is none. Only under the start lock.

    Raises what the supervisor gave as its reason, else StorageUnavailable when time.monotonic() passes `deadline`.
    """
    reap()
    probe = pg_handshake.open_lock(data, pg_handshake.SUPERVISOR_LOCK)
    started: subprocess.Popen[bytes] | None = None
    try:
        while time.monotonic() < deadline:
            if started is None and pg_handshake.try_lock(probe, exclusive=True):
                pg_handshake.clear_state(data)
                pg_handshake.unlock(probe)
                started = _start_supervisor(data)
            # Asked before the state is read: its last word is written before it ends.
            status = None if started is None else started.poll()
            state = pg_handshake.read_state(data)
            if state is not None and state.error is not None:
                raise (ConfigurationError if state.misconfigured else StorageUnavailable)(state.error)
            if state is not None:
                return state
            if status is not None and status != 0:
                raise StorageUnavailable(
                    f"the supervisor of {str(data)!r} ended with status {status}: {_log_tail(data)}"
                )
            if status == 0:
                started = None
            time.sleep(pg_handshake.WAIT_STEP_S)
    finally:
        os.close(probe)
    raise StorageUnavailable(
        f"embedded PostgreSQL of {str(data)!r} is not ready in time; see {str(data / 'server.log')!r}"
    )


def _start_supervisor(data: Path) -> subprocess.Popen[bytes]:
    path = data / _LOG
    with path.open("ab") as log:
        if log.tell() > _LOG_LIMIT_BYTES:
            log.truncate(0)
        # A session of its own: Ctrl-C in the client's terminal is not meant for the server of others.
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "accounting.storage.supervisor", str(data)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )
    _started.append(supervisor)
    return supervisor


def reap() -> None:
    """Collect the exit status of ended supervisors that this process started."""
    _started[:] = [supervisor for supervisor in _started if supervisor.poll() is None]


def _log_tail(data: Path) -> str:
    lines = (data / _LOG).read_text("utf-8", "replace").splitlines()
    return " | ".join(lines[-5:])
