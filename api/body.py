"""How is a request body read without letting it grow past the limits, compressed or not?"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import zstandard
from fastapi import Request

from accounting.errors import InvalidInput, TooLarge
from api.errors import UnsupportedMedia

_JSON = ("application/json",)
_NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")
_ENCODINGS = {"": "identity", "identity": "identity", "gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}

# Four bytes of zstd can stand for 128 KiB, and its decompressor takes no bound on what one call gives: the pieces it is
# fed bound how far past the limit one call can go (16 MiB). Windows above 8 MiB need not be supported (RFC 8878).
_ZSTD_PIECE = 512
_ZSTD_WINDOW = 8 * 1024 * 1024
_GZIP_OUTPUT = 1024 * 1024


def is_ndjson(content_type: str | None) -> bool:
    """Whether a Content-Type means JSON Lines; absent means JSON. Raises UnsupportedMedia for any other."""
    kind = (content_type or _JSON[0]).partition(";")[0].strip().lower()
    if kind in _NDJSON:
        return True
    if kind in _JSON:
        return False
    raise UnsupportedMedia("Content-Type", content_type, f"must be one of {', '.join(_JSON + _NDJSON)}")


def encoding(content_encoding: str | None) -> str:
    """`identity`, `gzip` or `zstd`. Raises UnsupportedMedia for any other."""
    name = (content_encoding or "").strip().lower()
    if name not in _ENCODINGS:
        raise UnsupportedMedia("Content-Encoding", content_encoding, "must be gzip, zstd or absent")
    return _ENCODINGS[name]


async def read_sent(request: Request, limit: int) -> bytes:
    """The body as sent. Raises TooLarge as soon as it is known to be over `limit` bytes, before the rest is read."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"body of {declared} bytes: at most {limit} bytes may be sent; split the batch")
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise TooLarge(f"body of more than {limit} bytes: at most {limit} bytes may be sent; split the batch")
        pieces.append(piece)
    return b"".join(pieces)


def inflate(sent: bytes, name: str, limit: int) -> bytes:
    """The body decompressed. Raises TooLarge beyond `limit` bytes, InvalidInput where it is not whole `name` data."""
    if name == "identity":
        return sent
    pieces: list[bytes] = []
    size = 0
    for piece in _gunzip(sent) if name == "gzip" else _unzstd(sent):
        size += len(piece)
        if size > limit:
            raise TooLarge(f"body of more than {limit} bytes when decompressed: split the batch")
        pieces.append(piece)
    return b"".join(pieces)


def _gunzip(sent: bytes) -> Iterator[bytes]:
    rest = sent
    while True:
        member = zlib.decompressobj(wbits=31)
        try:
            yield member.decompress(rest, _GZIP_OUTPUT)
            while not member.eof and member.unconsumed_tail:
                yield member.decompress(member.unconsumed_tail, _GZIP_OUTPUT)
        except zlib.error as error:
            raise InvalidInput("body", None, f"is not gzip: {error}") from error
        if not member.eof:
            raise InvalidInput("body", None, "is not gzip: it ends too early")
        # Members may follow each other, and some writers pad the last one with zeros.
        rest = member.unused_data
        if not rest.strip(b"\0"):
            return


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
