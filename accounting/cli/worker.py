"""How does the settlement run by itself, apart from the API: every tenant, again and again, until told to stop?"""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import click

from accounting.cli.group import example
from accounting.errors import TokencogsError
from accounting.ledger.settle import settle
from accounting.storage.engine import app_engine, owner_engine
from accounting.storage.tenants import context, list_tenants


@click.command(epilog=example("tokencogs worker --every 15", "tokencogs worker --once"))
@click.option("--every", default=15, show_default=True, type=click.IntRange(1, 1440), help="Minutes between two runs.")
@click.option("--once", is_flag=True, help="One run for every tenant, then end.")
@click.option(
    "--heartbeat",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that is touched after each round, for a health check.",
)
def worker(every: int, once: bool, heartbeat: Path | None) -> None:
    """Settle every tenant, every so many minutes, until Ctrl-C or SIGTERM; needs the owner's login, which lists the tenants.

    A tenant that fails is told and tried again in the next round; with --once the command then exits 1.
    """
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    while True:
        began = time.monotonic()
        failed = _round()
        if heartbeat is not None:
            heartbeat.touch()
        if once and failed:
            raise failed[0]
        if once or told.wait(max(0.0, every * 60 - (time.monotonic() - began))):
            return


def _round() -> list[TokencogsError]:
    """One run for every tenant; what failed."""
    failed: list[TokencogsError] = []
    engine = app_engine()
    for tenant in list_tenants(owner_engine()):
        try:
            summary = settle(engine, context(engine, tenant.tenant))
        except TokencogsError as error:
            failed.append(error)
            click.echo(f"{tenant.tenant}: {error}", err=True)
        else:
            click.echo(f"{tenant.tenant}: run {summary['run_id']}, {summary['charges']} charges appended")
    return failed
