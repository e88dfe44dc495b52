"""How do subscriptions, the revenue side of a margin, come in from a file?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.revenue.imports import import_subscriptions_csv
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs subscription import subscriptions.csv --tenant demo"))
def subscription() -> None:
    """Who pays what, from when until when."""


@subscription.command(name="import", epilog=example("tokencogs subscription import subscriptions.csv --tenant demo"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@tenant_option
def import_(file: Path, tenant: str | None) -> None:
    """Add or replace the subscriptions of the CSV FILE, by their ids.

    Columns: subscription_id, plan, user_id, account_id, monthly_price, currency, starts_on, ends_on; days half-open. Lines that
    can't be used are named on stderr, the rest is kept, and the exit code is 1.
    """
    engine = app_engine()
    result = import_subscriptions_csv(engine, context(engine, chosen(tenant)), file)
    click.echo(f"imported {result.imported}, rejected {len(result.rejected)}")
    for row in result.rejected:
        click.echo(f"line {row['line']}: {row['field']}={row['value']!r}: {row['reason']}", err=True)
    if result.rejected:
        sys.exit(FAILURE)
