"""How does the PostgreSQL image start on a machine without docker? An empty cluster, its first scripts, passwords over TCP."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accounting.storage.pg_account import server_account
from accounting.storage.pg_binaries import Binaries, within_reach
from accounting.storage.pg_cluster import system_folder


def start(
    programs: Binaries, folder: Path, port: int, environment: Mapping[str, str], scripts: Sequence[str]
) -> subprocess.Popen[bytes]:
    """A server at 127.0.0.1 with its own cluster below `folder`, once the scripts have run as the image runs them.

    environment: of the service; POSTGRES_PASSWORD is the superuser's.
    """
    cluster, sockets, password = (folder / name for name in ("cluster", "sockets", "password"))
    account = server_account(cluster)
    become: dict[str, Any] = {}
    password.write_text(environment["POSTGRES_PASSWORD"])
    for path in (cluster, sockets):
        path.mkdir(mode=0o700)
    if account is not None:
        programs = within_reach(programs, account, system_folder)
        become = {"user": account.uid, "group": account.gid, "extra_groups": []}
        for path in (cluster, sockets, password):
            os.chown(path, account.uid, account.gid)
    options = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}", "--no-sync"]
    make: list[str | Path] = [programs.bin_dir / "initdb", "-D", cluster, "-U", "postgres", *options]
    subprocess.run(make, cwd="/", check=True, capture_output=True, **become)
    command: list[str | Path] = [
        programs.bin_dir / "postgres",
        "-D",
        cluster,
        "-p",
        str(port),
        "-k",
        sockets,
        "-c",
        "fsync=off",
    ]
    with (folder / "db.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "-c", "listen_addresses=127.0.0.1"], cwd="/", stdout=log, stderr=log, **become
        )
    try:
        _run_scripts({**environment, "PGHOST": str(sockets), "PGPORT": str(port)}, scripts)
    except BaseException:  # Ctrl-C and a test's time limit too: nobody else knows of the process yet
        process.terminate()
        process.wait()
        raise
    return process


def _run_scripts(environment: Mapping[str, str], scripts: Sequence[str]) -> None:
    deadline = time.monotonic() + 30
    while subprocess.run(["pg_isready", "-q", "-U", "postgres"], env=environment, check=False).returncode != 0:
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.05)
    for script in scripts:
        # A script that may not be executed is read by the image's bash, which runs with these options.
        done = subprocess.run(
            ["bash", "-Eeo", "pipefail", "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
