"""How does the demo talk to the API? As any client would: over HTTP, with a key, patient where the server is busy."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
import zstandard

from accounting.errors import StorageUnavailable, TokencogsError

CONNECTIONS = 4
PATIENCE_SECONDS = 60.0
BUSY = (429, 503)
T = TypeVar("T")


class Api:
    """One client of the API; safe to use from several threads."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=PATIENCE_SECONDS,
            limits=httpx.Limits(max_connections=CONNECTIONS),
            trust_env=False,
        )

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, parameters: dict[str, str]) -> Any:
        """The JSON answer to a GET."""
        return self._ask("GET", path, params=parameters).json()

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON answer to a PUT."""
        return self._ask("PUT", path, json=body).json()

    def send_events(self, lines: bytes) -> dict[str, Any]:
        """Sends native events as JSON Lines, compressed; the answer counts what became of them.

        Sending again after an error is safe: an event that is there already counts once.
        """
        headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "zstd"}
        packed = zstandard.ZstdCompressor(level=1).compress(lines)
        answer: dict[str, Any] = self._ask("POST", "/v1/usage/events", content=packed, headers=headers).json()
        return answer

    def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Waits as long as the server asks for where it is busy (Retry-After, in seconds), up to a minute in all."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self._client.request(method, path, **request)
            except httpx.TransportError as error:
                raise StorageUnavailable(f"{method} {self.url}{path}: {type(error).__name__}: {error}") from error
            if answer.status_code not in BUSY or time.monotonic() > deadline:
                break
            time.sleep(float(answer.headers.get("Retry-After", "1")))
        if answer.status_code != httpx.codes.OK:
            raise TokencogsError(f"{method} {path} answered {answer.status_code}: {answer.text[:300]}")
        return answer


@contextmanager
def connected(url: str, key: str) -> Iterator[Api]:
    """A client that is closed at the end of the block."""
    api = Api(url, key)
    try:
        yield api
    finally:
        api.close()


def in_parallel(act: Callable[[T], Any], arguments: Iterable[T], connections: int = CONNECTIONS) -> Iterator[Any]:
    """Results in the order of the arguments, `connections` at a time; arguments are made as they are needed."""
    waiting: deque[Future[Any]] = deque()
    pool = ThreadPoolExecutor(connections)
    try:
        for argument in arguments:
            waiting.append(pool.submit(act, argument))
            if len(waiting) > connections:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
