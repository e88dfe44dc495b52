"""Who keeps the embedded PostgreSQL running while it has clients, and ends it when the last one is gone?

Run as `python -m accounting.storage.supervisor DATADIR` by the first client; one a data folder. Kept to one thread:
Linux sends the signal of a parent's death when the thread ends that started the child. It imports no SQL, so that it
stays small while it waits.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

from accounting.errors import ConfigurationError, StorageUnavailable, TokencogsError
from accounting.storage import pg_cluster, pg_handshake, pg_processes
from accounting.storage.pg_account import spawn
from accounting.storage.pg_binaries import Binaries, find_binaries, within_reach
from accounting.storage.pg_handshake import State

POLL_S = 0.3
POLL_WHILE_STARTING_S = 0.02
START_RETRY_S = 30.0
FIRST_START_ATTEMPTS = 3
SHUTDOWN_S = 120.0
LOG_LIMIT_BYTES = 16 * 1024 * 1024
AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}


class Supervisor:
    """One server process and the decision how long it lives."""

    def __init__(self, data: Path, clients_lock: int) -> None:
        self.data = data
        self.clients_lock = clients_lock
        self.linger_s = linger_seconds()
        self.chosen = find_binaries()
        self.layout = pg_cluster.plan(data, self.chosen.major)
        self.binaries: Binaries = self.chosen
        if self.layout.account is not None:
            self.binaries = within_reach(self.chosen, self.layout.account, pg_cluster.system_folder)
        self.log: BinaryIO = self.layout.log.open("ab", buffering=0)
        self.idle_since: float | None = None
        self.told_to_stop = False

    def run(self) -> None:
        """Start the server, restart it after a crash, return when it has stopped for want of clients or by SIGTERM."""
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
        if not self.layout.cluster.exists():
            pg_cluster.make_cluster(self.layout, self.binaries)
        last_ready: float | None = None
        began, attempts = time.monotonic(), 0
        while not self.told_to_stop:
            attempts += 1
            pg_processes.clear_leftovers(self.layout.cluster, self.layout.socket_dir)
            server = spawn(
                pg_cluster.server_command(self.layout, self.binaries), self.layout.account, signal.SIGINT, self.log
            )
            was_ready = self._watch(server)
            pg_handshake.clear_state(self.data)
            if server.poll() is None:
                _say("stopping the server")
                _stop(server)
                return
            _say(f"the server ended with status {server.returncode}")
            now = time.monotonic()
            last_ready = now if was_ready else last_ready
            hopeless = attempts >= FIRST_START_ATTEMPTS if last_ready is None else now - last_ready > START_RETRY_S
            if hopeless and not was_ready:
                raise StorageUnavailable(f"the server does not start ({now - began:.0f} s): {self._log_tail()}")
            time.sleep(0.2)

    def _watch(self, server: subprocess.Popen[bytes]) -> bool:
        """Wait until the server ends or should end; whether it has been ready. Its state is published once it is."""
        ready = False
        while server.poll() is None and not self._should_stop():
            if not ready and pg_processes.is_ready(self.layout.cluster, server.pid):
                ready = True
                pg_handshake.write_state(self.data, self._ready_state(server.pid))
                _say(f"server {server.pid} is ready")
            self._trim_log()
            # Sleeps, but for less when the server ends or somebody tells us to.
            caught = signal.sigtimedwait(AWAITED, POLL_S if ready else POLL_WHILE_STARTING_S)
            self.told_to_stop = caught is not None and caught.si_signo != signal.SIGCHLD
        return ready

    def _should_stop(self) -> bool:
        """Whether no client has been there for the grace period. If so the clients' lock stays ours: newcomers wait."""
        if self.told_to_stop:
            return True
        if not pg_handshake.try_lock(self.clients_lock, exclusive=True):
            self.idle_since = None
            return False
        now = time.monotonic()
        if self.idle_since is None:
            self.idle_since = now
        if now - self.idle_since >= self.linger_s:
            return True
        pg_handshake.unlock(self.clients_lock)
        return False

    def _ready_state(self, postmaster_pid: int) -> State:
        return State(
            supervisor_pid=os.getpid(),
            postmaster_pid=postmaster_pid,
            socket_dir=str(self.layout.socket_dir),
            port=pg_cluster.PORT,
            bin_dir=str(self.binaries.bin_dir),
            chosen_bin_dir=str(self.chosen.bin_dir),
            server_version=self.binaries.version,
        )

    def _trim_log(self) -> None:
        """Keep the log below twice the limit: the server appends, so its file can be emptied under it."""
        if os.fstat(self.log.fileno()).st_size > LOG_LIMIT_BYTES:
            shutil.copyfile(self.layout.log, self.layout.log.with_suffix(".log.1"))
            os.ftruncate(self.log.fileno(), 0)

    def _log_tail(self) -> str:
        lines = self.layout.log.read_text("utf-8", "replace").splitlines()
        return " | ".join(lines[-8:])


def linger_seconds() -> float:
    """TOKENCOGS_PG_LINGER: how long a server without clients is kept, in seconds (default 2)."""
    text = os.environ.get("TOKENCOGS_PG_LINGER", "2")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86_400:
        raise ConfigurationError(f"TOKENCOGS_PG_LINGER={text!r}: not a number of seconds from 0 to a day")
    return seconds


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Fast shutdown: open transactions are rolled back, a checkpoint is written; harder only when that does not end."""
    for harder, patience in ((signal.SIGINT, SHUTDOWN_S), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0)):
        server.send_signal(harder)
        try:
            server.wait(patience)
        except subprocess.TimeoutExpired:
            _say(f"the server is still there {patience:.0f} s after {harder.name}")
        else:
            return


def _say(message: str) -> None:
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {os.getpid()} {message}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Supervise the server of one data folder; 0 also when another supervisor has it already."""
    parser = argparse.ArgumentParser(prog="python -m accounting.storage.supervisor", description=__doc__)
    parser.add_argument("datadir", type=Path, help="data folder, which must exist")
    data = parser.parse_args(arguments).datadir.absolute()
    os.chdir("/")
    os.umask(0o077)
    supervisor_lock = pg_handshake.open_lock(data, pg_handshake.SUPERVISOR_LOCK)
    try:
        # A client that looks whether we are alive holds the lock for an instant.
        pg_handshake.wait_lock(supervisor_lock, time.monotonic() + 1.0, "another supervisor", exclusive=True)
    except StorageUnavailable:
        return 0
    pg_handshake.clear_state(data)
    clients_lock = pg_handshake.open_lock(data, pg_handshake.CLIENTS_LOCK)
    try:
        Supervisor(data, clients_lock).run()
    except TokencogsError as error:
        _say(f"giving up: {error}")
        failure = State(os.getpid(), error=str(error), misconfigured=isinstance(error, ConfigurationError))
        pg_handshake.write_state(data, failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
