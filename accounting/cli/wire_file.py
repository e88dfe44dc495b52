"""How does a file of wire bodies become batches, and how is each booked? JSON Lines, an array, one document, or OTLP protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import PurePath
from typing import BinaryIO

import msgspec
from sqlalchemy import Engine

from accounting.cli.lines import BATCH, Batch, array
from accounting.errors import InvalidInput
from accounting.ledger.layers import Books
from accounting.pipeline import IngestResult, TenantContext, ingest, store
from accounting.usage.calls import WireRead
from accounting.usage.columns import Prepared
from accounting.usage.formats.openinference import NAME as OPENINFERENCE
from accounting.usage.formats.otlp_attributes import NAME as OTLP
from accounting.usage.formats.registry import detect
from accounting.usage.items import AUTO, LOGS
from accounting.usage.parse import Rejection
from accounting.usage.prepare_otlp import prepare_otlp
from accounting.usage.prepare_wire import prepare_read, prepare_sent

NATIVE = "native"
_PROTOBUF = ".pb"
_COMPRESSED = (".gz", ".zst")


_OWN_ROWS = (OTLP, OPENINFERENCE, *LOGS)
"""Formats by which a whole file is read: a row of another one would be read as a row without calls."""
_MARKS = {"type", "message"}
"""Each record of a log has one of them, also the many kinds that hold no call."""


class Strays(Batch):
    """Rows of other formats than the file's."""


class WireFile:
    """Batches of a file, and the format they are booked as.

    Attributes:
        name: `native`, one of the formats, or `auto` where each body's structure tells.
        protobuf: whether the one row is an OTLP request in protobuf.
    """

    def __init__(self, reader: BinaryIO, path: str, asked: str) -> None:
        self.protobuf = _is_protobuf(path)
        if self.protobuf and asked not in (AUTO, OTLP, OPENINFERENCE):
            raise InvalidInput("--format", asked, "a .pb file is an OTLP export: otlp or auto")
        rows = iter([Batch([reader.read()], [1], ndjson=False)]) if self.protobuf else _batches(reader, path)
        first = next(rows, None)
        self.name = OTLP if self.protobuf else asked if first is None else _format(first.rows[0], asked)
        batches: Iterator[Batch] = chain([] if first is None else [first], rows)
        if asked == AUTO and not self.protobuf and self.name in _OWN_ROWS:
            batches = _told_apart(batches, self.name)
        self.batches = _joined(batches) if self.name in LOGS else batches

    def book(self, engine: Engine, settings: TenantContext, prices: Books, batch: Batch) -> IngestResult:
        """What became of one batch; `index` in it is the position of a row. Raises StorageUnavailable."""
        if self.name == NATIVE:
            return ingest(engine, settings, prices, batch.body, ndjson=batch.ndjson)
        now = datetime.now(UTC)
        name = AUTO if isinstance(batch, Strays) else self.name
        if name not in (OTLP, OPENINFERENCE):
            prepared = prepare_sent(name, batch.body, now, ndjson=batch.ndjson)
            return IngestResult.together(store(engine, settings, prices, prepared) if prepared else [])
        results = store(engine, settings, prices, [_spans(row, now, self.protobuf) for row in batch.rows])
        for index, result in enumerate(results):
            for found in (*result.conflicts, *result.rejected, *result.exceptions):
                found["index"] = index
        return IngestResult.together(results)


def _is_protobuf(path: str) -> bool:
    suffixes = [suffix for suffix in PurePath(path).suffixes if suffix not in _COMPRESSED]
    return suffixes[-1:] == [_PROTOBUF]


def _format(row: bytes, asked: str) -> str:
    """The format asked for. With `auto`: that of the first row where the whole file is read by it, else `auto`."""
    if asked != AUTO:
        return asked
    try:
        body = msgspec.json.decode(row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return AUTO
    if not isinstance(body, dict):
        return AUTO
    if "event_id" in body and "occurred_at" in body:
        return NATIVE
    module = detect(body)
    return module.NAME if module is not None and module.NAME in (OTLP, OPENINFERENCE, *LOGS) else AUTO


def _batches(reader: BinaryIO, path: str) -> Iterator[Batch]:
    """Rows of JSON Lines or of one array, BATCH at a time; a document over several lines is one row."""
    lines = ((number, row.rstrip(b"\r\n")) for number, row in enumerate(reader, start=1))
    filled = ((number, row) for number, row in lines if row and not row.isspace())
    first = next(filled, None)
    if first is None:
        return
    number, row = first
    if row.lstrip().startswith(b"["):
        yield from array(row + b"\n" + reader.read(), path)
        return
    if not _is_json(row):
        document = row + b"\n" + reader.read()
        if _is_json(document):
            yield Batch([document], [number], ndjson=False)
            return
        # JSON Lines all the same, the first of them broken.
        filled = ((at, line) for at, line in enumerate(document.split(b"\n")[1:], number + 1) if line.strip())
    numbered = chain([first], filled)
    while some := list(islice(numbered, BATCH)):
        yield Batch([text for _, text in some], [at for at, _ in some], ndjson=True)


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _told_apart(batches: Iterator[Batch], name: str) -> Iterator[Batch]:
    """Rows of the file's format, and those that by their structure are of another."""
    for batch in batches:
        strange = [_of_another(row, name) for row in batch.rows]
        for kind, wanted in ((type(batch), False), (Strays, True)):
            at = [index for index, found in enumerate(strange) if found is wanted]
            if at:
                yield kind([batch.rows[i] for i in at], [batch.lines[i] for i in at], ndjson=batch.ndjson)


def _of_another(row: bytes, name: str) -> bool:
    try:
        body = msgspec.json.decode(row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    module = detect(body) if isinstance(body, dict) else None
    if module is None and isinstance(body, dict) and name in LOGS:
        return not _MARKS & body.keys()
    known = (OTLP, OPENINFERENCE) if name in (OTLP, OPENINFERENCE) else (name,)
    return module is not None and module.NAME not in known


def _joined(batches: Iterator[Batch]) -> Iterator[Batch]:
    """All rows as one batch: of a log, several records are one call. Strays come as they are."""
    every = []
    for batch in batches:
        if isinstance(batch, Strays):
            yield batch
        else:
            every.append(batch)
    rows, lines = [row for batch in every for row in batch.rows], [line for batch in every for line in batch.lines]
    yield from (replace(batch, rows=rows, lines=lines) for batch in every[:1])


def _spans(row: bytes, now: datetime, protobuf: bool) -> Prepared:
    """The calls of one export; one that can't be read at all, or is none, is a rejection, so that the others are booked."""
    try:
        return prepare_otlp(row, now, protobuf=protobuf)
    except InvalidInput as error:
        unread = Rejection(0, None, error.field, str(error.value), error.reason)
        return prepare_read(WireRead(OTLP, rejected=[unread]), now)
