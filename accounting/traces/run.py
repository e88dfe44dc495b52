"""How do the rows of a trace get into the ledger, so that an import can be killed at any moment and started again?

Batches of fixed size go through the same line as every other log, each in its own transaction; after each commit the checkpoint
says so. A second run passes over what is done: it reads those rows again (a cache simulation needs them) and does not send them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec
from sqlalchemy import Engine

from accounting.ledger.layers import Books
from accounting.pipeline import IngestResult, ingest
from accounting.tenant import TenantContext
from accounting.traces import left_out
from accounting.traces.checkpoint import Checkpoint, Tally
from accounting.traces.trace import BadRow, Row
from accounting.usage.native import NativeEvent

BATCH = 5_000
_ENCODER = msgspec.json.Encoder()


@dataclass(frozen=True)
class Ledger:
    """Where events go: the application's engine, the tenant's settings, its prices."""

    engine: Engine
    settings: TenantContext
    book: Books


def content_hash(file: BinaryIO) -> str:
    """SHA-256 of all that is left in the file, hex; reads it in pieces."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # needs readinto, which every such file has


def run(
    ledger: Ledger, rows: Iterator[Row], checkpoint: Checkpoint, rejected: Path, watch: Callable[[Tally], None]
) -> Tally:
    """Books the rows, from the checkpoint on, and removes it at the end; memory holds one batch.

    Args:
        rejected: where rows left out are written, with their reasons.
        watch: called after each batch; what it raises stops the import, which can be started again.
    """
    tally = checkpoint.load()
    ahead = islice(rows, tally.rows, None)
    while batch := list(islice(ahead, BATCH)):
        tally = _booked(ledger, batch, tally, rejected)
        checkpoint.save(tally)
        watch(tally)
    checkpoint.remove()
    return tally


def _booked(ledger: Ledger, batch: list[Row], before: Tally, rejected: Path) -> Tally:
    """Books one batch; returns the tally with it."""
    bad = [row for row in batch if isinstance(row, BadRow)]
    numbers, events = _events(batch, before.rows)
    result = IngestResult()
    if events:
        result = ingest(ledger.engine, ledger.settings, ledger.book, _ENCODER.encode_lines(events), ndjson=True)
    findings = [*map(msgspec.to_builtins, bad), *_findings(result, numbers)]
    findings.sort(key=lambda finding: int(str(finding["row"])))
    refused = {finding["index"] for finding in result.rejected}
    kept = (event.event_id for index, event in enumerate(events) if index not in refused)
    return Tally(
        rows=before.rows + len(batch),
        accepted=before.accepted + result.accepted,
        duplicates=before.duplicates + result.duplicates,
        conflicts=before.conflicts + len(result.conflicts),
        rejected=before.rejected + len(result.rejected) + len(bad),
        left_out_bytes=left_out.append(rejected, before.left_out_bytes, findings),
        event_id=next(kept, before.event_id),
    )


def _events(batch: list[Row], before: int) -> tuple[list[int], list[NativeEvent]]:
    """Events of a batch and the row each stands in; `before` rows precede the batch."""
    numbered = [(before + at, row) for at, row in enumerate(batch, start=1) if isinstance(row, NativeEvent)]
    return [number for number, _ in numbered], [row for _, row in numbered]


def _findings(result: IngestResult, numbers: list[int]) -> Iterator[dict[str, object]]:
    for finding in (*result.rejected, *result.conflicts):
        named = {name: finding.get(name) for name in ("event_id", "field", "value", "reason")}
        yield {"row": numbers[int(str(finding["index"]))], **named}
