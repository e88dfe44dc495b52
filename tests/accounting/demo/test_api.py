"""Is the demo's client patient where the server is busy, and plain where it fails?"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
import zstandard

from accounting.demo.api import connected, in_parallel
from accounting.errors import StorageUnavailable, TokencogsError


class Scripted(BaseHTTPRequestHandler):
    """Answers with the statuses of `script`, one a request, and keeps what it was sent."""

    script: ClassVar[list[int]] = []
    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        answer = b'{"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}'
        self.send_response(self.script.pop(0))
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Scripted.script, Scripted.bodies = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_busy_server_is_asked_again_after_the_time_it_names(url: str) -> None:
    Scripted.script = [429, 503, 200]
    began = time.monotonic()
    with connected(url, "key") as api:
        assert api.send_events(b'{"event_id":"e1"}\n')["accepted"] == 1
    assert time.monotonic() - began >= 2.0
    assert [zstandard.ZstdDecompressor().decompress(body) for body in Scripted.bodies] == [b'{"event_id":"e1"}\n'] * 3


def test_a_refusal_is_not_repeated_and_says_what_was_answered(url: str) -> None:
    Scripted.script = [400]
    with connected(url, "key") as api, pytest.raises(TokencogsError, match="POST /v1/usage/events answered 400: "):
        api.send_events(b"{}\n")
    assert len(Scripted.bodies) == 1


def test_a_server_that_is_gone_is_unavailable() -> None:
    with connected("http://127.0.0.1:1", "key") as api, pytest.raises(StorageUnavailable, match="ConnectError"):
        api.send_events(b"{}\n")


def test_results_come_in_order_and_arguments_are_made_as_needed() -> None:
    made: list[int] = []

    def arguments() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    results = in_parallel(lambda number: number * number, arguments(), connections=3)
    assert next(results) == 0
    assert len(made) <= 5
    assert list(results) == [number * number for number in range(1, 20)]


def test_an_error_of_one_ends_all() -> None:
    def act(number: int) -> int:
        if number == 3:
            raise StorageUnavailable("gone")
        return number

    with pytest.raises(StorageUnavailable, match="gone"):
        list(in_parallel(act, range(100)))
