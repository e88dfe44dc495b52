"""How long are raw usage and identity kept, and how is what is older forgotten?"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.storage.engine import owner_engine
from accounting.storage.retention import apply_retention, set_retention


@click.group(epilog=example("tokencogs retention apply --tenant demo"))
def retention() -> None:
    """What is kept for how long (owner's login)."""


@retention.command(epilog=example("tokencogs retention apply --tenant demo"))
@tenant_option
def apply(tenant: str | None) -> None:
    """Forget raw usage and identity past the tenant's limits; amounts stay. Run it daily."""
    for name, count in apply_retention(owner_engine(), chosen(tenant), datetime.now(UTC)).to_json().items():
        click.echo(f"{name}\t{count}")


@retention.command(
    name="set", epilog=example("tokencogs retention set --tenant demo --raw-usage-days 90 --identity-days 365")
)
@tenant_option
@click.option("--raw-usage-days", type=int, help="Days that raw usage bodies are kept; absent: for ever.")
@click.option("--identity-days", type=int, help="Days that user, account and trace ids are kept; absent: for ever.")
def set_(tenant: str | None, raw_usage_days: int | None, identity_days: int | None) -> None:
    """Set both limits."""
    name = chosen(tenant)
    set_retention(owner_engine(), name, raw_usage_days, identity_days)
    click.echo(
        f"tenant {name}: raw usage {raw_usage_days or 'for ever'}, identity {identity_days or 'for ever'} (days)"
    )
