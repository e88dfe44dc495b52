"""How does a page get its figures? From the API over HTTP: one URL a figure, typed errors, a short memory for each key."""

from __future__ import annotations

import hashlib
import os
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from dashboard.errors import ApiError, BusyNow, NotAllowed, NotThere, Refused, SignedOut, Unreachable

TIMEOUT_SECONDS = 120.0
KEPT_SECONDS = 20.0
MOST_KEPT = 512
PATIENCE_SECONDS = 0.6
"""How long a page waits before it says that it waits."""


_KINDS = {401: SignedOut, 403: NotAllowed, 404: NotThere, 429: BusyNow, 503: BusyNow}


@dataclass(frozen=True)
class Address:
    """Where the API is. Attributes: url: for this process; public_url: what is shown to readers, who may be elsewhere."""

    url: str
    public_url: str

    @classmethod
    def from_environment(cls) -> Address:
        """TOKENCOGS_API_URL and TOKENCOGS_PUBLIC_API_URL."""
        url = os.environ.get("TOKENCOGS_API_URL", "http://127.0.0.1:8000").rstrip("/")
        return cls(url, os.environ.get("TOKENCOGS_PUBLIC_API_URL", url).rstrip("/"))


@dataclass(frozen=True)
class Answer:
    """What one URL returned. Attributes: url: anyone with a key can fetch it; data: its JSON."""

    url: str
    data: Any

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of a report."""
        rows: list[dict[str, Any]] = self.data["rows"]
        return rows


@dataclass
class _Memory:
    """Answers of the last seconds by (address, digest of the key, path with query): a reader never meets another's."""

    kept: dict[tuple[str, str, str], tuple[float, Any]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: tuple[str, str, str]) -> Any | None:
        with self.lock:
            found = self.kept.get(key)
            return found[1] if found and found[0] > time.monotonic() else None

    def put(self, key: tuple[str, str, str], answer: Any) -> None:
        with self.lock:
            if len(self.kept) >= MOST_KEPT:
                self.kept.pop(next(iter(self.kept)))
            self.kept[key] = (time.monotonic() + KEPT_SECONDS, answer)

    def forget(self, url: str, digest: str) -> None:
        with self.lock:
            for key in [key for key in self.kept if key[:2] == (url, digest)]:
                del self.kept[key]


_MEMORY = _Memory()
_POOL = ThreadPoolExecutor(16, thread_name_prefix="api")


class Api:
    """The API as one reader sees it: one address, one key or token."""

    def __init__(self, address: Address, secret: str) -> None:
        self.address = address
        self._secret = secret
        self._digest = hashlib.sha256(secret.encode()).hexdigest()

    def url(self, path: str, **parameters: Any) -> str:
        """The address of a figure, for readers. Never with a key."""
        return self.address.public_url + _target(path, parameters)

    def get(self, path: str, **parameters: Any) -> Answer:
        """The answer of a GET; parameters that are None are left out; a name may end in `_` (`from_`). Raises ApiError."""
        target = _target(path, parameters)
        place = (self.address.url, self._digest, target)
        data = _MEMORY.get(place)
        if data is None:
            data = self._send("GET", target).json()
            _MEMORY.put(place, data)
        return Answer(self.address.public_url + target, data)

    def start(self, path: str, **parameters: Any) -> Future[Answer]:
        """The same, begun at once in another thread."""
        return _POOL.submit(self.get, path, **parameters)

    def file(self, path: str, **parameters: Any) -> bytes:
        """The bytes of a GET, for a download."""
        return self._send("GET", _target(path, parameters)).content

    def post(self, path: str, body: Any = None) -> Any:
        """The answer of a POST; what this reader remembers is forgotten, as figures may have changed."""
        return self._change("POST", path, body)

    def put(self, path: str, body: Any) -> Any:
        """The answer of a PUT; as `post`."""
        return self._change("PUT", path, body)

    def delete(self, path: str, **parameters: Any) -> Any:
        """The answer of a DELETE; as `post`."""
        return self._change("DELETE", _target(path, parameters), None)

    def forget(self) -> None:
        """Asks everything anew."""
        _MEMORY.forget(self.address.url, self._digest)

    def _change(self, method: str, target: str, body: Any) -> Any:
        try:
            answer = self._send(method, target, body)
            return answer.json() if answer.content else None
        finally:
            self.forget()

    def _send(self, method: str, target: str, body: Any = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._secret}"}
        try:
            answer = _client().request(method, self.address.url + target, headers=headers, json=body)
        except httpx.TimeoutException as error:
            raise Unreachable(f"the API did not answer within {TIMEOUT_SECONDS:.0f} s") from error
        except httpx.TransportError as error:
            raise Unreachable(f"nothing answers at {self.address.url} ({type(error).__name__})") from error
        if answer.is_success:
            return answer
        raise _error(answer)


def done(pending: Future[Answer], seconds: float) -> bool:
    """Whether it has come within that time."""
    return bool(wait([pending], seconds).done)


_CLIENTS = threading.local()


@cache
def _certificates() -> ssl.SSLContext:
    """Read once for all clients: it takes tens of milliseconds."""
    return httpx.create_ssl_context(trust_env=False)


def _client() -> httpx.Client:
    """One client a thread, so that connections are kept."""
    if not hasattr(_CLIENTS, "client"):
        _CLIENTS.client = httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False, verify=_certificates())
    client: httpx.Client = _CLIENTS.client
    return client


def _target(path: str, parameters: Mapping[str, Any]) -> str:
    said = {name.rstrip("_"): value for name, value in parameters.items() if value not in (None, "", [])}
    query = urlencode(said, doseq=True, safe=",:/", quote_via=quote)
    return path + ("?" + query if query else "")


def segment(text: str) -> str:
    """Any text as one segment of a path."""
    return quote(text, safe="")


def _error(answer: httpx.Response) -> ApiError:
    try:
        said = answer.json()
        message, name, value = said["message"], said.get("field"), said.get("value")
    except (ValueError, KeyError, TypeError):
        message, name, value = f"the API answered {answer.status_code}", None, None
    kind = _KINDS.get(answer.status_code, Refused if answer.status_code < 500 else ApiError)
    return kind(message, answer.status_code, name, value)
