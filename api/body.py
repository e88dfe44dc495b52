"""How is a request body read without letting it grow past the limits, compressed or not?"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import zstandard
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from accounting.errors import InvalidInput, TooLarge
from api.errors import CLOSE, UnsupportedMedia

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
_NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")
ITEMS = (JSON, *_NDJSON)
"""Media types of a list of things, as JSON or as JSON Lines."""
_ENCODINGS = {
    "": "identity",
    "identity": "identity",
    "gzip": "gzip",
    "x-gzip": "gzip",
    "deflate": "deflate",
    "zstd": "zstd",
}
_CLOSING = (b"connection", b"close")
_WINDOWS = {"gzip": 31, "deflate": 15}
"""How zlib is told which of its two containers to expect."""

# Four bytes of zstd can stand for 128 KiB, and its decompressor takes no bound on what one call gives: the pieces it is
# fed bound how far past the limit one call can go (16 MiB). Windows above 8 MiB need not be supported (RFC 8878).
_ZSTD_PIECE = 512
_ZSTD_WINDOW = 8 * 1024 * 1024
_MEMBERS = 1_000  # what is left is copied after each
_GZIP_OUTPUT = 1024 * 1024

# A refusal that closes waits for what the sender is still sending, so long and for so many limits: most senders read no answer before all
# is sent, and one closed upon earlier sees a reset.
_PATIENCE = 5.0
_DRAINED = 16


class BoundBodies:
    """ASGI middleware that ends the reading of any body as soon as it is known to be over `limit` bytes.

    Below the routes, because a JSON body that FastAPI parses is read whole before a key is looked at. What is left of the body of a request
    that is refused with `Connection: close` is thrown away before the answer, within bounds.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"")
        size = int(declared) if declared.isdigit() else 0
        read = 0
        ended, asks = False, headers.get(b"expect", b"").lower() == b"100-continue"

        async def received() -> Message:
            nonlocal ended, asks
            message, asks = await receive(), False
            ended = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        async def bounded() -> Message:
            nonlocal read
            message = await received() if size <= self._limit else {}
            read += len(message.get("body", b""))
            if max(size, read) > self._limit:
                # FastAPI lets an HTTPException through while it reads a body; any other error it takes for bad JSON.
                raise HTTPException(413, f"at most {self._limit} bytes may be sent; split the batch", CLOSE)
            return message

        async def drained() -> None:
            left = _DRAINED * self._limit
            try:
                async with asyncio.timeout(_PATIENCE):
                    while not ended and left > 0:
                        left -= len((await received()).get("body", b""))
            except TimeoutError:
                return

        async def answered(message: Message) -> None:
            # Who asks before it sends is answered before it has.
            if message["type"] == "http.response.start" and _CLOSING in message.get("headers", ()) and not asks:
                await drained()
            await send(message)

        await self._app(scope, bounded, answered)


@dataclass(frozen=True)
class SentBody:
    """A body as it came. Attributes: encoding: identity, gzip, deflate or zstd; kind: media type."""

    data: bytes
    encoding: str
    kind: str

    @property
    def ndjson(self) -> bool:
        """Whether it is JSON Lines."""
        return self.kind in _NDJSON

    def inflated(self, limit: int) -> bytes:
        """The body decompressed; takes a core's time, so not for the event loop. Raises as `inflate`."""
        return inflate(self.data, self.encoding, limit)


def kind_of(request: Request) -> str:
    """The media type that the request states; JSON where it states none."""
    return request.headers.get("content-type", JSON).partition(";")[0].strip().lower()


async def read(request: Request, kinds: tuple[str, ...] = ITEMS) -> SentBody:
    """The request's body. Raises UnsupportedMedia for a Content-Type or Content-Encoding that is not read."""
    name, encoding = kind_of(request), request.headers.get("content-encoding")
    if name not in kinds:
        raise UnsupportedMedia(
            "Content-Type", request.headers.get("content-type"), f"must be one of {', '.join(kinds)}"
        )
    known = _ENCODINGS.get((encoding or "").strip().lower())
    if known is None:
        raise UnsupportedMedia("Content-Encoding", encoding, "must be gzip, deflate, zstd or absent")
    return SentBody(await request.body(), known, name)


def inflate(sent: bytes, name: str, limit: int) -> bytes:
    """The body decompressed. Raises TooLarge beyond `limit` bytes, InvalidInput where it is not whole `name` data."""
    if name == "identity":
        return sent
    pieces: list[bytes] = []
    size = 0
    for piece in _unzstd(sent) if name == "zstd" else _unzip(sent, name):
        size += len(piece)
        if size > limit:
            raise TooLarge(f"body of more than {limit} bytes when decompressed: split the batch")
        pieces.append(piece)
    return b"".join(pieces)


def _unzip(sent: bytes, name: str) -> Iterator[bytes]:
    rest = sent
    for _ in range(_MEMBERS):
        member = zlib.decompressobj(wbits=_WINDOWS[name])
        try:
            yield member.decompress(rest, _GZIP_OUTPUT)
            while not member.eof and member.unconsumed_tail:
                yield member.decompress(member.unconsumed_tail, _GZIP_OUTPUT)
        except zlib.error as error:
            raise InvalidInput("body", None, f"is not {name}: {error}") from error
        if not member.eof:
            raise InvalidInput("body", None, f"is not {name}: it ends too early")
        # Members of gzip may follow each other, and some writers pad the last one with zeros.
        rest = member.unused_data
        if not rest.strip(b"\0"):
            return
    raise TooLarge(f"body of more than {_MEMBERS} members of {name}: send it as one")


def _unzstd(sent: bytes) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = decompressor.decompressobj()
    begun = False
    for start in range(0, len(sent), _ZSTD_PIECE):
        rest = sent[start : start + _ZSTD_PIECE]
        while rest:
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise InvalidInput("body", None, f"is not zstd: {error}") from error
            begun = not frame.eof
            rest = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame = decompressor.decompressobj()
    if begun or not sent:
        raise InvalidInput("body", None, "is not zstd: it ends too early")
