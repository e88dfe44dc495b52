"""Which operating system user runs the server, what can that user reach, and how is a program started as that user?"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from accounting.errors import ConfigurationError

if sys.platform != "win32":  # where DATABASE_URL still works, so importing this must
    import pwd

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Account:
    """The unprivileged user of the server's processes.

    Attributes:
        uid: its user id, never 0: PostgreSQL refuses to run as root.
        gid: its primary group id.
    """

    uid: int
    gid: int


def server_account(cluster: Path) -> Account | None:
    """Whom to become for the cluster; None when this process is not root and runs the server as itself.

    An existing cluster belongs to its owner, whoever that is; a new one to `postgres`, else to `nobody`.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists():
        owner = cluster.stat()
        if owner.st_uid == 0:
            raise ConfigurationError(f"cluster folder {str(cluster)!r} belongs to root, as which PostgreSQL won't run")
        return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise ConfigurationError("PostgreSQL won't run as root, and neither user 'postgres' nor user 'nobody' exists")


def can_enter(folder: Path, account: Account) -> bool:
    """Whether the account may pass every folder from the root down to `folder`, by the permission bits alone."""
    path = folder.resolve()
    return all(_allows(part, account, 0o1) for part in (path, *path.parents))


def can_read(path: Path, account: Account) -> bool:
    """Whether the account may read the file, by the same bits."""
    return can_enter(path.parent, account) and _allows(path.resolve(), account, 0o4)


def _allows(path: Path, account: Account, bit: int) -> bool:
    info = path.stat()
    if info.st_uid == account.uid:
        return bool(info.st_mode & bit << 6)
    if info.st_gid == account.gid:
        return bool(info.st_mode & bit << 3)
    return bool(info.st_mode & bit)


def make_private(folder: Path, account: Account | None) -> None:
    """Create `folder` with mode 0700 for the server's user (its parent must exist), or check that it is so already."""
    try:
        folder.mkdir(mode=0o700)
        if account is not None:
            os.chown(folder, account.uid, account.gid)
    except FileExistsError:
        pass
    info = folder.lstat()
    wanted = os.geteuid() if account is None else account.uid
    if not folder.is_dir() or folder.is_symlink() or info.st_uid != wanted or info.st_mode & 0o077:
        raise ConfigurationError(f"folder {str(folder)!r} must be a folder of user id {wanted} with mode 0700")


def spawn(
    command: Sequence[str | Path], account: Account | None, dies_with_us: signal.Signals, output: BinaryIO
) -> subprocess.Popen[bytes]:
    """Start a program as the account; it gets the signal `dies_with_us` when this process ends, even by kill -9.

    Only for a process with a single thread: the child runs Python between fork and exec, and Linux ties the signal to
    the thread that forked. Raises ConfigurationError when the user can't be taken on.
    """
    parent = os.getpid()
    libc = ctypes.CDLL(None)

    def become() -> None:
        if account is not None:
            os.setgroups([])
            os.setgid(account.gid)
            os.setuid(account.uid)
        os.umask(0o077)
        # A shell's background job ignores SIGINT, and hands that on: a signal before the program has its own handlers would be lost.
        for heeded in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(heeded, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        # After the change of user, which clears it.
        if libc.prctl(_PR_SET_PDEATHSIG, int(dies_with_us), 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(1)

    try:
        return subprocess.Popen(
            [str(part) for part in command],
            preexec_fn=become,  # noqa: PLW1509 (single-threaded by contract)
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_clean_environment(),
        )
    except subprocess.SubprocessError as error:
        raise ConfigurationError(f"can't run {str(command[0])!r} as user id {account and account.uid}") from error


def _clean_environment() -> dict[str, str]:
    """Ours without what would steer libpq, the server's paths or its messages."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}
