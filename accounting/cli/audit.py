"""Who changed what about prices, pools, months and access?"""

from __future__ import annotations

import click
import msgspec

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.storage.audit import KINDS, listed
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.command(epilog=example("tokencogs audit --tenant acme", "tokencogs audit --kind login --limit 10 --json"))
@click.option("--subject", help="Only acts on this one: a price row's id, a contract's id, ...")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only acts about this; several may be named."
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="With what was before and after, as JSON.")
@tenant_option
def audit(subject: str | None, kinds: tuple[str, ...], limit: int, as_json: bool, tenant: str | None) -> None:
    """Print what the operator and this tenant changed about prices, pools, months and access.

    The newest first: when, who, for whom, what.
    """
    engine = app_engine()
    rows = listed(engine, context(engine, chosen(tenant)), limit, subject, kinds)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(rows)))
        return
    for row in rows:
        click.echo("\t".join(str(row[name]) for name in ("at", "actor", "for", "action", "subject")))
