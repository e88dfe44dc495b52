"""How does one command run others of ours: started, ready, watched, and stopped in order?"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import click
import httpx

from accounting.errors import StorageUnavailable, TokencogsError

HOST = "127.0.0.1"
START_SECONDS = 60.0
DRAIN_SECONDS = 70.0
SHOWN_LINES = 12


@dataclass
class Process:
    """A running `tokencogs` command. name: of it. url: where it answers. log: what it printed."""

    name: str
    url: str
    process: subprocess.Popen[bytes]
    log: BinaryIO

    def ended(self) -> StorageUnavailable | None:
        """Why it is no longer there; None while it runs."""
        code = self.process.poll()
        return None if code is None else StorageUnavailable(f"the {self.name} ended with status {code}")

    def wait_ready(self, path: str) -> None:
        """Raises StorageUnavailable where it ends, or does not answer at `path` within a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if (gone := self.ended()) is not None:
                raise gone
            try:
                if httpx.get(self.url + path, timeout=2.0, trust_env=False).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            time.sleep(0.05)
        raise StorageUnavailable(f"the {self.name} is not ready after {START_SECONDS:.0f} s")

    def stop(self) -> None:
        """Lets it drain; ends it by force where that takes longer than the server allows itself."""
        self.process.terminate()
        try:
            self.process.wait(DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def last_words(self) -> str:
        """The end of its log."""
        self.log.seek(0)
        return "\n".join(self.log.read().decode("utf-8", "replace").splitlines()[-SHOWN_LINES:])


@contextmanager
def running(
    name: str, words: Sequence[str], port: int, ready: str, environment: Mapping[str, str] | None = None
) -> Iterator[Process]:
    """`tokencogs WORDS --host 127.0.0.1 --port PORT`, once it answers at the path `ready`; stopped at the end of the block.

    An error of the block is preceded by the last words of the command, on stderr.
    """
    command = [sys.executable, "-m", "accounting.cli", *words, "--host", HOST, "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        # A session of its own: Ctrl-C in the terminal reaches only the caller, which then stops it in order.
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        started = Process(name, f"http://{HOST}:{port}", process, log)
        try:
            started.wait_ready(ready)
            yield started
        except TokencogsError:
            click.echo(f"the {name}'s last words:\n{started.last_words()}", err=True)
            raise
        finally:
            started.stop()


def wait_any(processes: Sequence[Process], seconds: float = 0.5) -> None:
    """Returns only by an exception: Ctrl-C, or StorageUnavailable when one of them ends by itself."""
    while True:
        for one in processes:
            if (gone := one.ended()) is not None:
                raise gone
        time.sleep(seconds)


def free_port(wanted: int | None, usual: int) -> int:
    """`wanted`, which must be free; where it is None, the usual one, or any that is free."""
    with socket.socket() as probe:
        # As the server will do; else a port whose last connections still linger looks taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, usual if wanted is None else wanted))
        except OSError as error:
            if wanted is not None:
                raise StorageUnavailable(f"--port {wanted}: {error.strerror}") from error
            probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
