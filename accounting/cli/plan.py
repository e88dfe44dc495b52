"""Which plans does a tenant sell?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.revenue.plans import put_plan
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs plan set pro --display-name Pro --tenant demo"))
def plan() -> None:
    """Plans of a tenant."""


@plan.command(name="set", epilog=example("tokencogs plan set pro --display-name Pro --tenant demo"))
@click.argument("name")
@click.option("--display-name", help="Default: NAME.")
@tenant_option
def set_(name: str, display_name: str | None, tenant: str | None) -> None:
    """Make the plan NAME, or rename it. Prices stand on subscriptions."""
    engine = app_engine()
    row = put_plan(engine, context(engine, chosen(tenant)), name, display_name)
    click.echo(f"plan {row['plan']}: {row['display_name']}")
