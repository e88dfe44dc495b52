"""Does the client tell errors apart, remember for one reader alone, and keep keys out of URLs?"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from dashboard import api as client
from dashboard import errors
from dashboard.api import Address, Api


class Scripted(BaseHTTPRequestHandler):
    """Answers with a status and counts who asked."""

    status: ClassVar[int] = 200
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Authorization"]))
        told = {"path": self.path, "key": self.headers["Authorization"]}
        if self.status >= 400:
            told = {"error": "X", "field": "tz", "value": "Mars", "message": "tz='Mars': no such zone"}
        body = json.dumps(told).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[Address]:
    Scripted.status, Scripted.asked = 200, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Address(f"http://127.0.0.1:{server.server_port}", "https://api.example.com")
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_shown_url_is_the_public_one_with_the_question_and_without_the_key(address: Address) -> None:
    answer = Api(address, "tc_acme_secret").get(
        "/v1/reports/x", from_="2026-10-01", tz="Asia/Kolkata", limit=None, filter=["a:b", "c:d"]
    )
    assert answer.url == "https://api.example.com/v1/reports/x?from=2026-10-01&tz=Asia/Kolkata&filter=a:b&filter=c:d"


def test_an_answer_is_remembered_for_one_key_and_never_given_to_another(address: Address) -> None:
    first, second = Api(address, "tc_one_a"), Api(address, "tc_two_b")
    assert first.get("/v1/me").data["key"] == first.get("/v1/me").data["key"] == "Bearer tc_one_a"
    assert second.get("/v1/me").data["key"] == "Bearer tc_two_b"
    assert len(Scripted.asked) == 2


def test_a_change_makes_the_reader_ask_anew(address: Address) -> None:
    api = Api(address, "tc_acme_c")
    api.get("/v1/keys")
    api.post("/v1/keys", {"scope": "viewer"})
    api.get("/v1/keys")
    assert [path for path, _ in Scripted.asked] == ["/v1/keys"] * 3


def test_a_change_of_one_reader_leaves_what_another_remembers(address: Address) -> None:
    one, other = Api(address, "tc_acme_f"), Api(address, "tc_globex_g")
    other.get("/v1/keys")
    one.post("/v1/keys", {"scope": "viewer"})
    other.get("/v1/keys")
    assert [key for _, key in Scripted.asked] == ["Bearer tc_globex_g", "Bearer tc_acme_f"]


def test_0_is_asked_for_and_what_is_empty_is_left_out(address: Address) -> None:
    asked = Api(address, "tc_acme_h").url("/v1/x", limit=0, model="", filter=[], kind=None)
    assert asked == "https://api.example.com/v1/x?limit=0"


def test_what_is_remembered_ends(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "KEPT_SECONDS", -1.0)
    api = Api(address, "tc_acme_d")
    api.get("/v1/me")
    api.get("/v1/me")
    assert len(Scripted.asked) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Refused),
        (401, errors.SignedOut),
        (403, errors.NotAllowed),
        (404, errors.NotThere),
        (409, errors.Refused),
        (429, errors.BusyNow),
        (503, errors.BusyNow),
    ],
)
def test_errors_are_told_apart_and_name_field_and_value(
    address: Address, status: int, kind: type[errors.ApiError]
) -> None:
    Scripted.status = status
    with pytest.raises(kind) as caught:
        Api(address, f"tc_acme_{status}").get("/v1/reports/x")
    assert type(caught.value) is kind
    assert (caught.value.field, caught.value.value, caught.value.message) == ("tz", "Mars", "tz='Mars': no such zone")


def test_a_fault_of_the_api_is_no_refusal(address: Address) -> None:
    Scripted.status = 500
    with pytest.raises(errors.ApiError) as caught:
        Api(address, "tc_acme_500").get("/v1/reports/x")
    assert type(caught.value) is errors.ApiError


def test_nobody_there_is_unreachable() -> None:
    with pytest.raises(errors.Unreachable, match=r"nothing answers at http://127.0.0.1:1 \(ConnectError\)"):
        Api(Address("http://127.0.0.1:1", "x"), "tc_acme_e").get("/v1/me")


def test_an_id_with_slashes_is_one_segment() -> None:
    assert client.segment("a/b c?d") == "a%2Fb%20c%3Fd"
