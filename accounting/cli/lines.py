"""How does a file of events become batches of rows that still know their line?"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import msgspec
import zstandard

from accounting.errors import InvalidInput

BATCH = 5_000


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes:
        rows: one event each, as written.
        lines: where each row stands: its line in the file from 1; in a JSON array its place from 1.
        ndjson: whether the rows are lines; rows of an array may hold line breaks.
    """

    rows: list[bytes]
    lines: list[int]
    ndjson: bool

    @property
    def body(self) -> bytes:
        """The rows as one body, in the same order."""
        return b"\n".join(self.rows) if self.ndjson else b"[" + b",".join(self.rows) + b"]"


@contextmanager
def opened(path: str) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The text of a file, decompressed by its name (.gz, .zst), and the file below it, for progress; `-` is standard input.

    Raises InvalidInput where what is read turns out not to be compressed as the name says.
    """
    if path == "-":
        yield sys.stdin.buffer, sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            if path.endswith(".gz"):
                yield io.BufferedReader(gzip.GzipFile(fileobj=file)), file
            elif path.endswith(".zst"):
                yield io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)), file
            else:
                yield file, file
    except (gzip.BadGzipFile, zlib.error, EOFError, zstandard.ZstdError) as error:
        raise InvalidInput("file", path, f"can't be decompressed: {error}") from error


def batches(reader: BinaryIO, path: str, *, arrays: bool, size: int = BATCH) -> Iterator[Batch]:
    """Rows of JSON Lines, `size` at a time, empty lines left out; with `arrays` also those of one JSON array.

    JSON Lines are read as they come; an array is read whole. Raises InvalidInput for an array that can't be read, or is not
    taken here.
    """
    lines = ((number, row.rstrip(b"\r\n")) for number, row in enumerate(reader, start=1))
    filled = ((number, row) for number, row in lines if row and not row.isspace())
    first = next(filled, None)
    if first is None:
        return
    if first[1].lstrip().startswith(b"["):
        if not arrays:
            raise InvalidInput("file", path, "is a JSON array; one event a line is expected")
        yield from array(first[1] + b"\n" + reader.read(), path, size)
        return
    numbered = chain([first], filled)
    while some := list(islice(numbered, size)):
        yield Batch([row for _, row in some], [number for number, _ in some], ndjson=True)


def array(text: bytes, path: str, size: int = BATCH) -> Iterator[Batch]:
    """Rows of a JSON array, `size` at a time. Raises InvalidInput where it is none."""
    try:
        rows = [bytes(row) for row in msgspec.json.decode(text, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("file", path, f"is no JSON array: {error}") from error
    for first in range(0, len(rows), size):
        some = rows[first : first + size]
        yield Batch(some, list(range(first + 1, first + 1 + len(some))), ndjson=False)
