"""How does an operator reach the database: bring it up to date, learn its address, look inside?"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click

from accounting.cli.group import example
from accounting.errors import ConfigurationError
from accounting.storage import embedded, migrate
from accounting.storage.engine import app_url, owner_engine, owner_url
from accounting.storage.tariffs import seed_list_tariffs


@click.group(epilog=example("tokencogs db upgrade"))
def db() -> None:
    """The database: migrations, address, a prompt."""


@db.command(epilog=example("tokencogs db upgrade"))
def upgrade() -> None:
    """Migrate to the newest schema, make partitions around today, load new list prices. Safe to run at any time."""
    engine = owner_engine()
    revision = migrate.upgrade(engine)
    new = seed_list_tariffs(engine)
    click.echo(f"schema at revision {revision}; {new} new list tariffs")


@db.command(epilog=example("tokencogs db url", "tokencogs db url --owner"))
@click.option("--owner", is_flag=True, help="The owner's login instead of the application's.")
def url(owner: bool) -> None:
    """Print the database's URL, as psql takes it.

    The embedded server runs only while some command uses it: `tokencogs serve` in another terminal keeps it up.
    """
    click.echo(embedded.libpq_url(owner_url() if owner else app_url()))


@db.command(
    context_settings={"ignore_unknown_options": True},
    epilog=example(
        "tokencogs db psql --tenant demo", "tokencogs db psql --tenant demo -c 'select count(*) from usage_events'"
    ),
)
@click.option("--owner", is_flag=True, help="The owner's login instead of the application's.")
@click.option(
    "--tenant", envvar="TOKENCOGS_TENANT", show_envvar=True, help="Whose rows to show; without it none are visible."
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(owner: bool, tenant: str | None, arguments: tuple[str, ...]) -> None:
    """Open psql on the database; further ARGUMENTS go to psql."""
    address = embedded.libpq_url(owner_url() if owner else app_url())
    environment = dict(os.environ)
    if tenant:
        environment["PGOPTIONS"] = f"{environment.get('PGOPTIONS', '')} -c tokencogs.tenant={tenant}".strip()
    # A child and not exec: this process is what keeps the embedded server up while psql is open. Ctrl-C is psql's own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(subprocess.run([_psql(), address, *arguments], env=environment, check=False).returncode)


def _psql() -> Path:
    """psql of the embedded server where that is in use, else the one on PATH."""
    if not os.environ.get("DATABASE_URL"):
        own = embedded.attach().bin_dir / "psql"
        if os.access(own, os.X_OK):
            return own
    found = shutil.which("psql")
    if found is None:
        raise ConfigurationError(
            "psql is not on PATH; install PostgreSQL's client, or use another with `tokencogs db url`"
        )
    return Path(found)
