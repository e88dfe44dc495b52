"""How do events or wire bodies in a file get into the ledger, without a server?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click
from tqdm import tqdm

from accounting.cli.group import FAILURE, example
from accounting.cli.lines import Batch, opened
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.cli.wire_file import NATIVE, WireFile
from accounting.pipeline import IngestResult
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context
from accounting.usage.formats.registry import FORMATS
from accounting.usage.items import AUTO


@dataclass
class Tally:
    """What became of the file's rows; left_out: the file that says why the bad ones were not booked."""

    left_out: Path
    accepted: int = 0
    duplicates: int = 0
    conflicts: int = 0
    rejected: int = 0
    exceptions: int = 0
    aggregates: int = 0

    def add(self, batch: Batch, result: IngestResult) -> None:
        """Counts one batch's answer and writes its bad rows down, each with its line and reason."""
        first = not self.conflicts and not self.rejected
        self.accepted += result.accepted
        self.duplicates += result.duplicates
        self.conflicts += len(result.conflicts)
        self.rejected += len(result.rejected)
        self.exceptions += len(result.exceptions)
        self.aggregates += result.aggregates
        if result.conflicts or result.rejected:
            with self.left_out.open("w" if first else "a", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _bad_rows(batch, result))


@click.command(
    epilog=example(
        "tokencogs ingest events.jsonl.gz --tenant demo",
        "tokencogs ingest bodies.jsonl --format openai_chat",
        "tokencogs ingest spans.pb --format auto",
    )
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--format",
    "wire_format",
    type=click.Choice([NATIVE, AUTO, *sorted(FORMATS)]),
    default=NATIVE,
    show_default=True,
    metavar="NAME",
    help=f"What the rows are: {NATIVE} events, {AUTO} (each told by its structure), or one of {', '.join(sorted(FORMATS))}.",
)
@tenant_option
def ingest(file: str, wire_format: str, tenant: str | None) -> None:
    """Book the events or wire bodies of FILE: JSON Lines, one JSON array or document, or an OTLP export (.pb, .json); plain, .gz or .zst.

    A body may stand alone or as {"response": ..., "context": {...}}. A call that is there already is a duplicate and counts once,
    so a file can be sent again. Rows that can't be booked go to FILE.rejected.jsonl with their line and reason, and the exit code is
    1. A body that contradicts itself is kept: see `tokencogs exceptions list`.
    """
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    book = load_layers(engine, settings.tenant)
    tally = Tally(Path(f"{file}.rejected.jsonl"))
    with opened(file) as (reader, below):
        source = WireFile(reader, file, wire_format)
        for batch in _progress(source.batches, below):
            tally.add(batch, source.book(engine, settings, book, batch))
    wire = f", exceptions {tally.exceptions}, aggregates {tally.aggregates}" if source.name != NATIVE else ""
    click.echo(
        f"accepted {tally.accepted}, duplicates {tally.duplicates}, conflicts {tally.conflicts}, rejected {tally.rejected}{wire}"
    )
    if tally.conflicts or tally.rejected:
        click.echo(f"rows left out, with reasons: {tally.left_out}", err=True)
        sys.exit(FAILURE)


def _progress(rows: Iterator[Batch], below: BinaryIO) -> Iterator[Batch]:
    """The same batches, while a bar on stderr follows how much of the file is read."""
    size = os.fstat(below.fileno()).st_size
    with tqdm(total=size, unit="B", unit_scale=True, desc="ingest", file=sys.stderr, disable=None) as bar:
        for batch in rows:
            yield batch
            if size:  # a pipe has no place in it
                bar.update(below.tell() - bar.n)


def _bad_rows(batch: Batch, result: IngestResult) -> Iterator[dict[str, object]]:
    for finding in (*result.rejected, *result.conflicts):
        index = int(str(finding["index"]))
        named = {name: finding.get(name) for name in ("event_id", "field", "value", "reason")}
        yield {"line": batch.lines[index], **named, "row": _text(batch.rows[index])}


def _text(row: bytes) -> str | None:
    """A row as it stood in the file; None where it is no text."""
    try:
        return row.decode()
    except UnicodeDecodeError:
        return None
