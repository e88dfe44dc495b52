"""What is beyond a limit, and what waits too long, is refused without harm to what was acknowledged."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from fastapi import FastAPI
from sqlalchemy import text

from accounting.storage.engine import transaction
from api import body as api_body
from api.app import create_app
from api.settings import Settings
from tests.api.serving import Running, running
from tests.conftest import Database, Server
from tests.events import body, event

pytestmark = [pytest.mark.storage, pytest.mark.one_server]

URL = "/v1/usage/events"
SENT, INFLATED = 10_000_000, 64_000_000


def test_more_than_ten_megabytes_sent_is_refused(api: Running, keys: dict[str, str]) -> None:
    with api.client(keys["ingest"]) as client:
        answer = client.post(URL, content=b"[" + b" " * SENT + b"]")
        assert (answer.status_code, answer.json()["error"]) == (413, "TooLarge")
        assert "10000000" in answer.json()["message"]
        # The next request of the same client finds a connection.
        assert client.post(URL, content=b"[]").status_code == 200


def answer_to(server: Running, key: str, content: bytes, size: int | None = None, *lines: str) -> bytes:
    """What one reads who reads nothing before all of `content` is sent, as most do. size: of the body, as its header says."""
    host, port = server.url.removeprefix("http://").split(":")
    head = (f"POST {URL} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", "Content-Type: application/json")
    head = (*head, *lines, f"Content-Length: {len(content) if size is None else size}", "", "")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall("\r\n".join(head).encode() + content)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_who_sends_all_of_a_body_far_too_long_reads_why_it_is_refused(api: Running, keys: dict[str, str]) -> None:
    answer = answer_to(api, keys["ingest"], b" " * 6 * SENT)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"split the batch" in answer


def test_who_is_told_to_come_back_can_read_so_with_a_large_body(database: Database, keys: dict[str, str]) -> None:
    with running(database, Settings(max_requests=0)) as server:
        answer = answer_to(server, keys["ingest"], b" " * (SENT - 1))
    assert answer.startswith(b"HTTP/1.1 429 ")
    assert b"retry-after: " in answer.lower()


def test_who_asks_before_sending_is_answered_before_it_sends(api: Running, keys: dict[str, str]) -> None:
    """curl does, with a large file."""
    answer = answer_to(api, keys["ingest"], b"", SENT + 1, "Expect: 100-continue")
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_who_stops_sending_is_not_waited_for_for_ever(
    api: Running, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_body, "_PATIENCE", 0.2)
    assert answer_to(api, keys["ingest"], b"[", SENT + 1).startswith(b"HTTP/1.1 413 ")


def test_who_never_stops_is_cut_off(api: Running, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_body, "_DRAINED", 1)
    with pytest.raises(OSError):  # noqa: PT011 (reset or broken pipe, as the sender is met)
        answer_to(api, keys["ingest"], b" " * 30 * SENT)


def test_exactly_ten_megabytes_are_read(api: Running, keys: dict[str, str]) -> None:
    with api.client(keys["ingest"]) as client:
        assert client.post(URL, content=b"[" + b" " * (SENT - 2) + b"]").status_code == 200


def test_a_body_of_unknown_length_is_cut_off_at_the_limit(api: Running, keys: dict[str, str]) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield b" " * 100_000

    with api.client(keys["ingest"]) as client:
        assert client.post(URL, content=endless()).status_code == 413


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_more_than_sixty_four_megabytes_inflated_is_refused(api: Running, keys: dict[str, str], encoding: str) -> None:
    compress = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}[encoding]
    with api.client(keys["ingest"]) as client:
        over = client.post(URL, content=compress(b"[" + b" " * INFLATED + b"]"), headers={"Content-Encoding": encoding})
        within = client.post(
            URL, content=compress(b"[" + b" " * (INFLATED - 2) + b"]"), headers={"Content-Encoding": encoding}
        )
    assert (over.status_code, over.json()["error"]) == (413, "TooLarge")
    assert within.status_code == 200


@pytest.mark.parametrize("with_key", [True, False])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", f"{URL}/x/revisions"), ("POST", f"{URL}/x/void"), ("PUT", "/v1/plans/x")]
)
def test_every_route_that_reads_a_body_has_the_limit(
    api: Running, keys: dict[str, str], method: str, path: str, with_key: bool
) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"reason": "'
        for _ in range(200):
            yield b"x" * 100_000

    with api.client(keys["admin"] if with_key else None) as client:
        for content in (b" " * (SENT + 1), endless()):
            answer = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code in ((413,) if with_key else (401, 413))
            assert set(answer.json()) == {"error", "field", "value", "message"}


def test_one_request_too_many_is_told_to_come_back(database: Database, keys: dict[str, str]) -> None:
    going = threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"["
        assert going.wait(20)
        yield b"]"

    with (
        running(database, Settings(max_requests=1)) as server,
        ThreadPoolExecutor(1) as pool,
        server.client(keys["ingest"]) as first,
        server.client(keys["ingest"]) as second,
    ):
        held = pool.submit(lambda: first.post(URL, content=slow()))
        while server.app.state.service.in_work == 0:
            time.sleep(0.01)
        refused = second.post(URL, content=b"[]")
        going.set()
        assert held.result().status_code == 200
        assert second.post(URL, content=b"[]").status_code == 200
    assert (refused.status_code, refused.json()["error"], refused.headers["Retry-After"]) == (429, "Busy", "1")


def test_a_writer_that_falls_behind_takes_no_more(database: Database, keys: dict[str, str]) -> None:
    with (
        running(database, Settings(max_waiting_events=1)) as server,
        ThreadPoolExecutor(1) as pool,
        server.client(keys["ingest"]) as first,
        server.client(keys["ingest"]) as second,
    ):
        with transaction(database.owner, "acme") as connection:
            connection.execute(text("LOCK TABLE event_ids IN SHARE MODE"))
            held = pool.submit(lambda: first.post(URL, content=body([event("behind-1")])))
            while server.app.state.service.writer.waiting_events == 0:
                time.sleep(0.01)
            refused = second.post(URL, content=body([event("behind-2")]))
        assert held.result().json()["accepted"] == 1
        again = second.post(URL, content=body([event("behind-2")]))
    assert (refused.status_code, refused.json()["error"]) == (429, "Busy")
    assert int(refused.headers["Retry-After"]) >= 1
    assert again.json() == {"accepted": 1, "duplicates": 0, "conflicts": [], "rejected": []}


def test_a_lost_database_is_told_as_such_and_the_batch_can_be_sent_again(
    database: Database, server: Server, keys: dict[str, str]
) -> None:
    with running(database) as api, api.client(keys["ingest"]) as client:
        assert client.post(URL, content=body([event("lost-1")])).json()["accepted"] == 1
        server.admin(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false")
        server.admin(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}'")
        try:
            lost = client.post(URL, content=body([event("lost-2")]))
            ready, alive = client.get("/readyz"), client.get("/healthz")
        finally:
            server.admin(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")
        assert (lost.status_code, lost.json()["error"]) == (503, "StorageUnavailable")
        assert int(lost.headers["Retry-After"]) >= 1
        assert database.name not in lost.text
        assert (ready.status_code, alive.status_code) == (503, 200)
        assert client.get("/readyz").status_code == 200
        both = client.post(URL, content=body([event("lost-1"), event("lost-2")]))
        assert both.json() == {"accepted": 1, "duplicates": 1, "conflicts": [], "rejected": []}


def test_a_fault_of_the_server_says_nothing_of_its_inside(database: Database) -> None:
    app: FastAPI = create_app()

    @app.get("/fault")
    def fault() -> None:
        raise ValueError("password=hunter2")

    with running(database, app=app) as server, server.client() as client:
        answer = client.get("/fault")
    assert answer.status_code == 500
    assert answer.json() == {
        "error": "InternalError",
        "field": None,
        "value": None,
        "message": "an internal error; the server's log has the details",
    }
