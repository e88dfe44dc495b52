"""How does an operator make tenants and see them?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.storage.engine import owner_engine
from accounting.storage.tenants import create_tenant, list_tenants


@click.group(epilog=example("tokencogs tenant create acme"))
def tenant() -> None:
    """Tenants: whose events and reports these are (owner's login)."""


@tenant.command(
    epilog=example("tokencogs tenant create acme --display-name 'Acme Ltd' --reporting-tz Europe/Berlin --currency EUR")
)
@click.argument("name")
@click.option("--display-name", help="Default: NAME.")
@click.option("--reporting-tz", default="UTC", show_default=True, help="IANA zone of the tenant's days and months.")
@click.option("--currency", default="USD", show_default=True, help="ISO 4217 code in which the tenant books.")
def create(name: str, display_name: str | None, reporting_tz: str, currency: str) -> None:
    """Make the tenant NAME: 2 to 31 lower-case letters and digits, a letter first."""
    create_tenant(owner_engine(), name, display_name or name, reporting_tz, currency)
    click.echo(f"tenant {name} made; next: tokencogs key create --tenant {name} --scope ingest")


@tenant.command(name="list", epilog=example("tokencogs tenant list"))
def list_() -> None:
    """List the tenants: name, display name, zone, currency."""
    for known in list_tenants(owner_engine()):
        click.echo(f"{known.tenant}\t{known.display_name}\t{known.reporting_tz}\t{known.billing_currency}")
