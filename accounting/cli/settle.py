"""How is the settlement run started by hand?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.settle import settle as run
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.command(
    epilog=example("tokencogs settle --tenant demo", "tokencogs settle --tenant demo --run-id 2026-10-close")
)
@click.option("--run-id", help="Name of the run; that of an earlier run replays it. Default: made from the time.")
@click.option(
    "--whole", is_flag=True, help="Work out every contract's whole term again, not only from where charges changed."
)
@tenant_option
def settle(run_id: str | None, whole: bool, tenant: str | None) -> None:
    """Append the charges that depend on other events. Safe to run again: nothing is appended twice.

    That is what contracts make of usage (volume tiers, commitments, credits), and the hours of pools whose bill is in. The run also
    counts what still waits, by deployment, with an estimate that stands in no total. `--whole` checks the contracts: where it appends
    a line, the runs before it missed one.
    """
    engine = app_engine()
    summary = run(engine, context(engine, chosen(tenant)), run_id=run_id, whole=whole)
    click.echo(f"run {summary['run_id']}: {summary['charges']} charges appended")
    for deployment, events in summary["subjects"].items():
        waiting = summary["estimates"].get(deployment, {"cost": None})
        about = "" if waiting["cost"] is None else f"\tabout {waiting['cost']} {waiting['billing_currency']}"
        click.echo(f"pending\t{deployment or '(no deployment)'}\t{events}{about}")
