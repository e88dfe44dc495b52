"""How does the demo run the API? As a process of its own, `tokencogs serve`, which ends with the demo."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import click
import httpx

from accounting.errors import StorageUnavailable, TokencogsError

HOST = "127.0.0.1"
PORT = 8000
START_SECONDS = 60.0
DRAIN_SECONDS = 70.0
SHOWN_LINES = 12


@dataclass
class Server:
    """A running `tokencogs serve`. url: where it answers. log: what it printed."""

    url: str
    process: subprocess.Popen[bytes]
    log: BinaryIO

    def wait(self) -> None:
        """Returns only by an exception: Ctrl-C, or StorageUnavailable when the server ends by itself."""
        code = self.process.wait()
        raise StorageUnavailable(f"the server ended with status {code}")

    def wait_ready(self) -> None:
        """Raises StorageUnavailable where the server ends, or is not ready within a minute."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                self.wait()
            try:
                if httpx.get(f"{self.url}/readyz", timeout=2.0, trust_env=False).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            time.sleep(0.05)
        raise StorageUnavailable(f"the server is not ready after {START_SECONDS:.0f} s")

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
def serving(port: int | None) -> Iterator[Server]:
    """A ready server on the port, else on 8000, else on a free one; it is stopped at the end of the block."""
    chosen = _free_port(PORT if port is None else port, else_any=port is None)
    command = [sys.executable, "-m", "accounting.cli", "serve", "--host", HOST, "--port", str(chosen)]
    with tempfile.TemporaryFile() as log:
        # A session of its own: Ctrl-C in the terminal reaches only the demo, which then stops the server in order.
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        server = Server(f"http://{HOST}:{chosen}", process, log)
        try:
            server.wait_ready()
            yield server
        except TokencogsError:
            click.echo(f"the server's last words:\n{server.last_words()}", err=True)
            raise
        finally:
            server.stop()


def _free_port(wanted: int, else_any: bool) -> int:
    with socket.socket() as probe:
        # As the server will do; else a port whose last connections still linger looks taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError as error:
            if not else_any:
                raise StorageUnavailable(f"--port {wanted}: {error.strerror}") from error
            probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
