"""Traces for tests: hand-made files, and the rows a source makes of them."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from accounting.traces.trace import BadRow, Options, Row, Source
from accounting.usage.native import NativeEvent

START = datetime(2026, 7, 1, tzinfo=UTC)


def options(**stated: Any) -> Options:
    """Options with a content hash of zeros, so that event ids are known beforehand."""
    return Options(**{"content_hash": "0" * 64, "provider": "deepseek", "model": "deepseek-chat", **stated})


def read(source: Source, text: str | bytes, **stated: Any) -> list[Row]:
    """All rows of a file with this text."""
    return list(source.rows(BytesIO(text.encode() if isinstance(text, str) else text), options(**stated)))


def read_file(source: Source, path: Path, **stated: Any) -> list[Row]:
    """All rows of a file, plain or .gz."""
    content = path.read_bytes()
    return read(source, gzip.decompress(content) if path.suffix == ".gz" else content, **stated)


def event(row: Row) -> NativeEvent:
    assert isinstance(row, NativeEvent), row
    return row


def events(rows: Sequence[Row]) -> list[NativeEvent]:
    return [event(row) for row in rows]


def bad(row: Row) -> BadRow:
    assert isinstance(row, BadRow), row
    return row


def servegen(count: int) -> str:
    """A request log of `count` rows, one a second, of ten clients; input 100 + row, output 10 of which 4 are reasoning."""
    lines = [f"{number}.250,{number % 10},{100 + number},10,4" for number in range(count)]
    return "\n".join(["t_s,client_id,input_tokens,output_tokens,reasoning_tokens", *lines]) + "\n"


def prefix(text: str) -> str:
    """The content's part of an event id."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
