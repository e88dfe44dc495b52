"""Where do the cluster, its socket and its log lie, how is it made, and with which settings does it run?"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from accounting.errors import ConfigurationError, StorageUnavailable
from accounting.storage.pg_account import Account, can_enter, make_private, server_account, spawn
from accounting.storage.pg_binaries import Binaries

PORT = 5432
SUPERUSER = "postgres"
_LONGEST_SOCKET_PATH = 100  # sun_path holds 107 bytes
_MB = 1024 * 1024


@dataclass(frozen=True)
class Layout:
    """The places of one data folder.

    Attributes:
        data: the user's data folder; locks, state and logs lie in it.
        cluster: PostgreSQL's own data folder, `pg<major>`.
        socket_dir: private folder of the Unix socket, short enough for the kernel.
        log: what the server prints.
        account: the user that runs the server; None when that is the present one.
    """

    data: Path
    cluster: Path
    socket_dir: Path
    log: Path
    account: Account | None


def plan(data: Path, major: int) -> Layout:
    """Decide where everything lies, and create the folders but not the cluster.

    As root, a data folder that the server's user can't enter (such as one below /root) keeps a link `home` to a folder
    of ours that it can; nobody's permissions are changed. Raises ConfigurationError when an existing cluster can't be
    used: an empty new one in its place would look like lost data.
    """
    link = data / "home"
    home = link.readlink() if link.is_symlink() else data
    if not home.is_dir():
        raise ConfigurationError(
            f"{str(link)!r} points to {str(home)!r}, which is missing: restore it or remove the link"
        )
    cluster = home / f"pg{major}"
    others = sorted(path.parent.name for path in home.glob("pg*/PG_VERSION") if path.parent.name[2:].isdigit())
    if others and not cluster.exists():
        raise ConfigurationError(
            f"{str(home)!r} holds the cluster {others[-1]} and the programs found are PostgreSQL {major}: set"
            f" TOKENCOGS_PG_BIN to programs of version {others[-1][2:]}, or dump and load the data"
        )
    account = server_account(cluster)
    if account is not None and not can_enter(home, account):
        if cluster.exists():
            raise ConfigurationError(f"user id {account.uid} owns {str(cluster)!r} and can't enter {str(home)!r}")
        home = system_folder() / secrets.token_hex(8)
        home.mkdir()
        home.chmod(0o711)
        (home / "data-folder").write_text(f"{data}\n", "utf-8")  # whose it is, for whoever finds it
        link.symlink_to(home)
        cluster = home / cluster.name
    socket_dir = home / "run"
    # libpq takes a comma in a host for the end of its name.
    if len(os.fsencode(socket_dir / f".s.PGSQL.{PORT}")) > _LONGEST_SOCKET_PATH or "," in str(socket_dir):
        socket_dir = _short_folder(account) / hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:16]
    make_private(socket_dir, account)
    return Layout(data, cluster, socket_dir, data / "server.log", account)


def system_folder() -> Path:
    """Root's folder for clusters, sockets and copied programs that the server's user must be able to enter."""
    reasons = []
    for folder in (Path("/var/lib/tokencogs"), Path("/var/tmp/tokencogs-0")):
        try:
            folder.mkdir()
            folder.chmod(0o755)
        except FileExistsError:
            pass
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror}")
            continue
        info = folder.lstat()
        if folder.is_symlink() or info.st_uid != 0 or info.st_mode & 0o022 or not info.st_mode & 0o001:
            reasons.append(f"{folder}: not a folder of root with mode 0755")
            continue
        return folder
    raise ConfigurationError("no folder for the server's user: " + "; ".join(reasons) + "; set TOKENCOGS_DATA")


def _short_folder(account: Account | None) -> Path:
    if account is not None:
        return system_folder()
    folder = Path(f"/tmp/tokencogs-{os.geteuid()}")
    make_private(folder, None)
    return folder


def make_cluster(layout: Layout, binaries: Binaries) -> None:
    """Run initdb beside the final place and rename, so that a half-made cluster never counts."""
    for leftover in layout.cluster.parent.glob(layout.cluster.name + ".new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=layout.cluster.name + ".new-", dir=layout.cluster.parent))
    if layout.account is not None:
        os.chown(draft, layout.account.uid, layout.account.gid)
    command: list[str | Path] = [binaries.bin_dir / "initdb", "-D", draft, "-U", SUPERUSER]
    command += ["--data-checksums", "--encoding=UTF8", "--locale=C", "--no-instructions"]
    # Trust: whoever may enter the private socket folder may act as any login. Nothing listens on the network.
    command += ["--auth-local=trust", "--auth-host=reject"]
    with tempfile.TemporaryFile() as output:
        status = spawn(command, layout.account, signal.SIGKILL, output).wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace").strip()
    if status != 0:
        raise StorageUnavailable(f"initdb ended with status {status}: {text[-2000:]}")
    draft.rename(layout.cluster)
    folder = os.open(layout.cluster.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def server_command(layout: Layout, binaries: Binaries) -> list[str | Path]:
    """The server's command line; settings stand on it, so that an older configuration file can't contradict them."""
    memory = _memory_bytes()
    quoted_socket_dir = str(layout.socket_dir).replace('"', '""')
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{quoted_socket_dir}"',
        "port": PORT,
        "max_connections": 100,
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "shared_buffers": f"{min(max(memory // 8, 32 * _MB), 512 * _MB) // _MB}MB",
        "effective_cache_size": f"{max(memory // 2, 64 * _MB) // _MB}MB",
        "max_wal_size": "4GB",
        "checkpoint_timeout": "15min",
        "wal_compression": "on",
        "max_locks_per_transaction": 256,  # a query over years of monthly partitions locks each of them and its indexes
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] %u@%d ",
        "log_checkpoints": "off",
        # Erasing a user must reach every place: no statements and no row values go to the log.
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
    }
    command: list[str | Path] = [binaries.bin_dir / "postgres", "-D", layout.cluster]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    return command


def _memory_bytes() -> int:
    """RAM of the machine, or the limit of the container (cgroup v2) where that is lower."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text("ascii").strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdigit() else machine
