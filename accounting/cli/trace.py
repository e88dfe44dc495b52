"""How do public request traces get into the ledger as if they were logs?"""

from __future__ import annotations

import os
import re
import sys
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import click
from tqdm import tqdm

from accounting.cli.group import FAILURE, example
from accounting.cli.lines import opened
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context
from accounting.traces import SOURCES
from accounting.traces.checkpoint import Checkpoint, Tally, state_folder
from accounting.traces.run import Ledger, content_hash, run
from accounting.traces.trace import LOGGED, NONE, UNKNOWN, Options, Source

_SECONDS = {"s": 1, "m": 60, "h": 3_600}
_EXAMPLES = (
    "tokencogs trace import azure requests.csv --provider openai --model gpt-4o --cache-read none",
    "tokencogs trace import mooncake trace.jsonl --start 2026-10-01T00:00Z --provider moonshotai --model kimi-k2.5",
)


@click.group(epilog=example(*_EXAMPLES))
def trace() -> None:
    """Public request traces as logs."""


@trace.command(
    name="import",
    epilog=example(*_EXAMPLES),
    help="Book the requests of the trace FILE (plain, .gz or .zst; no pipe, as it is read twice), whose layout is SOURCE:\n\n"
    + "\n\n".join(f"{source.name}: {source.says}." for source in SOURCES.values())
    + "\n\nA stopped import goes on where it was; a second one books nothing twice. Rows that can't be booked are written down "
    "with their reason, the rest is booked, and the exit code is 1.",
)
@click.argument("source", type=click.Choice(sorted(SOURCES)))
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--provider", required=True, help="Who serves the requests; the traces don't say.")
@click.option("--model", required=True, help="What serves them; the traces don't say.")
@click.option("--deployment", help="The self-hosted pool that serves them. inferencex: default is each row's run.")
@click.option("--start", help="When the first row begins, with its UTC offset; needed where times are relative.")
@click.option(
    "--cache-read",
    type=click.Choice([UNKNOWN, NONE, LOGGED]),
    default=UNKNOWN,
    show_default=True,
    help="Where cache reads are not computed: unknown leaves events unpriced, none says there were none, logged takes the log's.",
)
@click.option(
    "--block-lifetime", help="mooncake: how long a block stays after its last use, as 60s, 5m, 1h; default: for ever."
)
@click.option("--capacity-blocks", type=click.IntRange(0), help="mooncake: blocks the cache holds; default: all.")
@click.option("--limit", type=click.IntRange(1), help="Only the first rows.")
@click.option(
    "--rejected", type=click.Path(path_type=Path), help="Where rows left out go; default: FILE.rejected.jsonl."
)
@tenant_option
def import_(
    source: str,
    file: str,
    provider: str,
    model: str,
    deployment: str | None,
    start: str | None,
    cache_read: str,
    block_lifetime: str | None,
    capacity_blocks: int | None,
    limit: int | None,
    rejected: Path | None,
    tenant: str | None,
) -> None:
    with opened(file) as (reader, below):
        if not below.seekable():
            raise InvalidInput("file", file, "is a pipe; a trace is read twice, so a file is expected")
        content = content_hash(reader)
    moment, lifetime = _moment(start), _lifetime(block_lifetime)
    options = Options(content, provider, model, deployment, moment, cache_read, lifetime, capacity_blocks)
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    ledger = Ledger(engine, settings, load_layers(engine, settings.tenant))
    checkpoint = Checkpoint(engine, settings, source, options, state_folder())
    left_out = rejected or Path(f"{file}.rejected.jsonl")
    tally = _run(ledger, file, SOURCES[source], options, limit, checkpoint, left_out)
    click.echo(
        f"accepted {tally.accepted}, duplicates {tally.duplicates}, conflicts {tally.conflicts}, rejected {tally.rejected}"
    )
    if tally.conflicts or tally.rejected:
        click.echo(f"rows left out, with reasons: {left_out}", err=True)
        sys.exit(FAILURE)


def _run(
    ledger: Ledger,
    file: str,
    source: Source,
    options: Options,
    limit: int | None,
    checkpoint: Checkpoint,
    left_out: Path,
) -> Tally:
    """Imports while a bar on stderr follows how much of the file is read."""
    with opened(file) as (reader, below):
        size = os.fstat(below.fileno()).st_size
        with tqdm(total=size, unit="B", unit_scale=True, desc=source.name, file=sys.stderr, disable=None) as bar:

            def watch(tally: Tally) -> None:
                bar.set_postfix_str(f"{tally.rows} rows", refresh=False)
                bar.update(below.tell() - bar.n)

            return run(ledger, islice(source.rows(reader, options), limit), checkpoint, left_out, watch)


def _moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput("--start", text, "is no moment such as 2026-10-01T00:00:00Z") from error


def _lifetime(text: str | None) -> timedelta | None:
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})([smh])", text, re.ASCII)
    if match is None:
        raise InvalidInput("--block-lifetime", text, "is no time such as 60s, 5m or 1h")
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
