"""How does a streamed answer arrive, piece by piece, each with its time? Nothing is decoded while it is measured."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import httptools

from probe.http.errors import HttpProbeFailed


@dataclass
class Reply:
    """An answer as it came. Attributes: sent, ended: monotonic seconds; pieces: (monotonic seconds, bytes of the body)."""

    sent: float = 0.0
    ended: float = 0.0
    status: int = 0
    pieces: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(piece for _, piece in self.pieces)


class _Wire(asyncio.Protocol):
    """One connection. Answers come one at a time; bytes are stamped in the callback that brings them."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.reply = Reply()
        self.done: asyncio.Future[Reply] | None = None
        self.closed = False
        self._now = 0.0
        self._parser: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def ask(self, head: bytes, body: bytes) -> asyncio.Future[Reply]:
        assert self.transport is not None
        self.reply, self._parser = Reply(), httptools.HttpResponseParser(self)
        self.done = asyncio.get_running_loop().create_future()
        self.reply.sent = time.monotonic()
        self.transport.write(head + body)
        return self.done

    def data_received(self, data: bytes) -> None:
        self._now = time.monotonic()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, AttributeError) as error:
            self._fail(f"no HTTP: {error}")

    def on_status(self, _status: bytes) -> None:
        self.reply.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self.reply.pieces.append((self._now, body))

    def on_message_complete(self) -> None:
        self.reply.ended, self.reply.status = self._now, self._parser.get_status_code()
        self.closed = self.closed or not self._parser.should_keep_alive()
        if self.done and not self.done.done():
            self.done.set_result(self.reply)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._fail(f"the connection ended before the answer did{f': {error}' if error else ''}")

    def _fail(self, why: str) -> None:
        self.closed = True
        if self.done and not self.done.done():
            self.done.set_exception(HttpProbeFailed("answer", self.reply.status or None, why))


class Client:
    """Connections to one server, kept open between requests, so that no request's time has a connection's in it."""

    def __init__(self, url: str, key: str | None = None, timeout: float = 600.0) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise HttpProbeFailed("url", url, str(error)) from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise HttpProbeFailed("url", url, "http://HOST[:PORT] or https://HOST[:PORT] is expected")
        self.host, self.timeout = parts.hostname, timeout
        self.port = port or (443 if parts.scheme == "https" else 80)
        # Paths begin with /v1 themselves, and the base URL of OpenAI's clients ends with it.
        self.prefix = parts.path.rstrip("/").removesuffix("/v1")
        self._ssl = ssl.create_default_context() if parts.scheme == "https" else None
        self._key = f"Authorization: Bearer {key}\r\n" if key else ""
        self._free: list[_Wire] = []
        self._all: list[_Wire] = []

    async def warm(self, connections: int) -> None:
        """Opens so many connections; those that the server has closed since do not count."""
        self._free = [one for one in self._free if not one.closed]
        wires = [await self._connect() for _ in range(connections - len(self._free))]
        self._free += wires

    async def request(self, method: str, path: str, body: bytes = b"") -> Reply:
        """The whole answer. Raises HttpProbeFailed where none comes."""
        wire = next((one for one in self._free if not one.closed), None)
        if wire is None:
            wire = await self._connect()
        else:
            self._free.remove(wire)
        head = (
            f"{method} {self.prefix}{path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n{self._key}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        try:
            return await asyncio.wait_for(wire.ask(head, body), self.timeout)
        except TimeoutError as late:
            wire.closed = True
            raise HttpProbeFailed("timeout", self.timeout, f"{path} was not answered in so many seconds") from late
        finally:
            if wire.closed and wire.transport:
                wire.transport.close()
            elif not wire.closed:
                self._free.append(wire)

    def close(self) -> None:
        for wire in self._all:
            if wire.transport:
                wire.transport.close()

    async def _connect(self) -> _Wire:
        loop = asyncio.get_running_loop()
        try:
            _, wire = await loop.create_connection(_Wire, self.host, self.port, ssl=self._ssl)
        except (OSError, UnicodeError) as error:
            raise HttpProbeFailed("url", f"{self.host}:{self.port}", str(error)) from error
        self._all.append(wire)
        return wire


def events(reply: Reply) -> list[tuple[float, bytes]]:
    """(seconds, data) of each server-sent event, without the closing [DONE]. An event came when its last byte did."""
    found: list[tuple[float, bytes]] = []
    rest = b""
    for at, piece in reply.pieces:
        rest = (rest + piece).replace(b"\r\n", b"\n")
        *whole, rest = rest.split(b"\n\n")
        found += [(at, data) for data in map(_data, whole) if data and data != b"[DONE]"]
    last = _data(rest)
    if last and last != b"[DONE]":
        found.append((reply.ended, last))
    return found


def _data(event: bytes) -> bytes:
    lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines)
