"""How does an operator hand out API keys and take them back?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.storage.engine import owner_engine
from accounting.storage.tenants import SCOPES, create_key, list_keys, revoke_key


@click.group(epilog=example("tokencogs key create --tenant demo --scope ingest"))
def key() -> None:
    """API keys of a tenant (owner's login)."""


@key.command(epilog=example("tokencogs key create --tenant demo --scope viewer --label 'finance sheet'"))
@tenant_option
@click.option("--scope", required=True, type=click.Choice(SCOPES), help="What the key may do.")
@click.option("--label", default="", help="A note on who holds it.")
def create(tenant: str | None, scope: str, label: str) -> None:
    """Make a key and print it: the only time it can be seen, for a hash is stored."""
    click.echo(create_key(owner_engine(), chosen(tenant), scope, label, actor()))


@key.command(epilog=example("tokencogs key revoke --tenant demo 4fGh7Kq2"))
@click.argument("key_id")
@tenant_option
def revoke(key_id: str, tenant: str | None) -> None:
    """End the key KEY_ID (see `tokencogs key list`) at once."""
    revoke_key(owner_engine(), chosen(tenant), key_id, actor())
    click.echo(f"key {key_id} revoked")


@key.command(name="list", epilog=example("tokencogs key list --tenant demo"))
@tenant_option
def list_(tenant: str | None) -> None:
    """List a tenant's keys: id, scope, made, revoked, label."""
    for known in list_keys(owner_engine(), chosen(tenant)):
        revoked = f"revoked {known.revoked_at:%Y-%m-%dT%H:%M:%SZ}" if known.revoked_at else "good"
        click.echo(f"{known.key_id}\t{known.scope}\t{known.created_at:%Y-%m-%dT%H:%M:%SZ}\t{revoked}\t{known.label}")
