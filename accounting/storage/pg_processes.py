"""Which processes serve a cluster, is its server ready, and how is it cleared of what a crash left behind?"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from accounting.errors import StorageUnavailable

_READY_LINE = 7
_ORPHAN_GRACE_S = 5.0
_SHUTDOWN_GRACE_S = 20.0
_LONGEST_S = 30.0


def is_ready(cluster: Path, postmaster_pid: int) -> bool:
    """Whether this very postmaster accepts connections, by the status line of its pid file (as pg_ctl does it)."""
    lines = _pid_file(cluster)
    return len(lines) > _READY_LINE and lines[0] == str(postmaster_pid) and lines[_READY_LINE].strip() == "ready"


def serving(cluster: Path) -> list[int]:
    """Process ids of every PostgreSQL process that works in the cluster's folder, postmaster or not."""
    try:
        wanted = os.stat(cluster)
    except FileNotFoundError:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            here = os.stat(entry / "cwd")
            program = os.readlink(entry / "exe")
        except OSError:
            continue  # gone meanwhile, a kernel thread, or another user's: in no case a server that we started
        if (here.st_dev, here.st_ino) == (wanted.st_dev, wanted.st_ino) and "postgres" in os.path.basename(program):
            found.append(int(entry.name))
    return sorted(found)


def clear_leftovers(cluster: Path, socket_dir: Path) -> None:
    """End what an earlier supervisor or a killed postmaster left running, so that a new server can start.

    A postmaster gets SIGINT (its supervisor's death has sent that already) and time for its shutdown checkpoint;
    backends without a postmaster get SIGQUIT. None of this can lose a committed row. Raises StorageUnavailable after
    30 s.
    """
    began = time.monotonic()
    told: set[tuple[int, signal.Signals]] = set()
    while remaining := serving(cluster):
        lines = _pid_file(cluster)
        postmaster = next((pid for pid in remaining if lines and lines[0] == str(pid)), None)
        waited = time.monotonic() - began
        if waited > _LONGEST_S:
            raise StorageUnavailable(f"processes {remaining} still hold the cluster {str(cluster)!r}")
        if postmaster is not None:
            _tell(told, postmaster, signal.SIGINT if waited < _SHUTDOWN_GRACE_S else signal.SIGQUIT)
        else:
            for pid in remaining:
                _tell(told, pid, signal.SIGQUIT if waited < _ORPHAN_GRACE_S else signal.SIGKILL)
        time.sleep(0.02)
    # These may name a pid that is now another process, or a zombie that nobody collects: PostgreSQL would not start.
    for stale in (cluster / "postmaster.pid", *socket_dir.glob(".s.PGSQL.*")):
        stale.unlink(missing_ok=True)


def _tell(told: set[tuple[int, signal.Signals]], pid: int, what: signal.Signals) -> None:
    if (pid, what) in told:
        return
    told.add((pid, what))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, what)


def _pid_file(cluster: Path) -> list[str]:
    try:
        return (cluster / "postmaster.pid").read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
