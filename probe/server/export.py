"""`tokencogs probe fpm`: how does a step ledger become lines that read Dynamo's ForwardPassMetrics?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa

from probe.engine.fpm import to_fpm
from probe.engine.interfaces import StepRecord
from probe.engine.ledger import read_ledger

_EPILOG = "\b\nExample:\n  tokencogs probe fpm steps.arrow --worker-id replica-0 > steps.jsonl"


@click.command("fpm", epilog=_EPILOG)
@click.argument("ledger", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--worker-id", default="probe", show_default=True, help="Whose steps they are.")
def fpm_command(ledger: Path, worker_id: str) -> None:
    """Print the step LEDGER of `tokencogs probe serve --ledger` as ForwardPassMetrics, version 1: a JSON line a step.

    The lines have sums a phase; which requests shared a step stands in the ledger alone.
    """
    for record in _records(ledger):
        click.echo(json.dumps(to_fpm(record, worker_id)))


def _records(path: Path) -> Iterator[StepRecord]:
    try:
        yield from read_ledger(path)
    except (pa.ArrowException, OSError, KeyError, TypeError) as wrong:
        raise click.ClickException(f"ledger: {path} is no step ledger: {' '.join(str(wrong).split())}") from wrong
