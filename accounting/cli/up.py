"""How does all of it run on one machine without docker: API, settlement and dashboard?"""

from __future__ import annotations

import signal
import sys

import click

from accounting.cli.group import example
from accounting.demo.server import serving, showing
from accounting.processes import wait_any
from accounting.storage.engine import has_owner, owner_engine
from accounting.storage.tenants import list_tenants


@click.command(epilog=example("tokencogs up", "tokencogs up --port 8080 --dashboard-port 8502"))
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the API; default: 8000, else a free one.")
@click.option(
    "--dashboard-port", type=click.IntRange(1, 65535), help="Port of the dashboard; default: 8501, else a free one."
)
def up(port: int | None, dashboard_port: int | None) -> None:
    """Run API, settlement and dashboard on this machine until Ctrl-C.

    Where the owner's login is known (always with the embedded database) the settlement runs every 15 minutes in the API's process.
    The dashboard needs the extra `dashboard`: pip install 'tokencogs[dashboard]'.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    settlement = ("--with-settlement",) if has_owner() else ()
    try:
        with serving(port, *settlement) as server, showing(server.url, dashboard_port) as pages:
            click.echo(f"dashboard  {pages.url if pages else 'not installed: pip install tokencogs[dashboard]'}")
            click.echo(f"API        {server.url}\ndocs       {server.url}/docs")
            click.echo(f"settlement {'every 15 minutes' if settlement else 'not here: the owner login is not known'}")
            if has_owner() and not list_tenants(owner_engine()):
                click.echo("\nNobody can sign in yet:\n  tokencogs tenant create acme")
                click.echo("  tokencogs key create --tenant acme --scope admin")
            click.echo("\nCtrl-C ends it.")
            sys.stdout.flush()
            wait_any([one for one in (server, pages) if one is not None])
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
