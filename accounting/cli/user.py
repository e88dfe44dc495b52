"""How is one user's identity erased?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.storage.engine import owner_engine
from accounting.storage.retention import erase_user


@click.group(epilog=example("tokencogs user erase user-0007 --tenant demo"))
def user() -> None:
    """Users of a tenant (owner's login)."""


@user.command(epilog=example("tokencogs user erase user-0007 --tenant demo --yes"))
@click.argument("user_id")
@tenant_option
@click.option("--yes", is_flag=True, help="Don't ask.")
def erase(user_id: str, tenant: str | None, yes: bool) -> None:
    """Erase the identity of USER_ID for good; amounts stay, under a random name."""
    name = chosen(tenant)
    if not yes:
        click.confirm(f"erase user {user_id!r} of tenant {name}? This can't be undone", abort=True)
    for table, rows in erase_user(owner_engine(), name, user_id).items():
        click.echo(f"{table}\t{rows}")
