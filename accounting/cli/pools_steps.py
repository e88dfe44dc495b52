"""How do the step ledgers of a pool's replicas come in, and which stand?"""

from __future__ import annotations

from pathlib import Path

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.moments import instant
from accounting.selfhosted.imports.read_steps import read_steps
from accounting.storage.engine import app_engine
from accounting.storage.pool_steps import listed_steps, record_steps, withdraw_steps
from accounting.storage.tenants import context

_IMPORT = "tokencogs pools steps import steps.arrow --pool chat --replica r0"


@click.group(epilog=example(_IMPORT))
def steps() -> None:
    """Step ledgers of replicas: which requests shared each step, and how long it took."""


@steps.command(name="import", epilog=example(_IMPORT))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--pool", "pool_id", required=True, help="The pool it served in.")
@click.option("--replica", required=True, help="The replica whose engine wrote it.")
@tenant_option
def import_(file: Path, pool_id: str, replica: str, tenant: str | None) -> None:
    """Keep the step ledger FILE of a replica, the Arrow stream that the probe's engine writes.

    Its requests are charged by their recorded steps from the next settlement on: a step's request_id is an event's event_id, or its
    response_id. The same steps again change nothing.
    """
    engine = app_engine()
    ledger = read_steps(file.read_bytes())
    done = record_steps(engine, context(engine, chosen(tenant)), pool_id, replica, ledger, file.name, actor())
    click.echo(
        f"{done.steps} steps of {done.requests} requests, {done.starts_at.isoformat()} to {done.ends_at.isoformat()}: "
        f"{done.written} hours written, {done.unchanged} unchanged"
    )


@steps.command(name="list", epilog=example("tokencogs pools steps list --pool chat --from 2026-09-01 --to 2026-09-02"))
@click.option("--pool", "pool_id", required=True)
@click.option("--from", "since", required=True, help="A day or a moment.")
@click.option("--to", "until", required=True, help="Its end, not included.")
@tenant_option
def list_(pool_id: str, since: str, until: str, tenant: str | None) -> None:
    """The ledgers that stand for a pool's hours."""
    engine = app_engine()
    period = instant("--from", since), instant("--to", until)
    for one in listed_steps(engine, context(engine, chosen(tenant)), pool_id, *period):
        click.echo(
            f"{one['hour']}\t{one['replica']}\t{one['steps']} steps\t{one['requests']} requests\t"
            f"{one['starts_at']} to {one['ends_at']}\t{one['source_id']}"
        )


@steps.command(
    epilog=example(
        "tokencogs pools steps withdraw --pool chat --replica r0 --from 2026-09-01T05:00Z --to 2026-09-01T06:00Z"
    )
)
@click.option("--pool", "pool_id", required=True)
@click.option("--replica", required=True)
@click.option("--from", "since", required=True, help="The hours that begin from here on,")
@click.option("--to", "until", required=True, help="and before here.")
@tenant_option
def withdraw(pool_id: str, replica: str, since: str, until: str, tenant: str | None) -> None:
    """Take the ledgers of some hours back as never right; they settle by the log again."""
    engine = app_engine()
    period = instant("--from", since), instant("--to", until)
    gone = withdraw_steps(engine, context(engine, chosen(tenant)), pool_id, replica, *period, actor())
    click.echo(f"{gone} hours of {replica} withdrawn")
