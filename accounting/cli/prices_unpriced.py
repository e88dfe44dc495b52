"""Which models have no price, and who is told?"""

from __future__ import annotations

import click

from accounting import alerts
from accounting.cli.group import example
from accounting.cli.prices_options import actor, dump
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.reports.unpriced import unpriced as suspense
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.command(epilog=example("tokencogs prices unpriced --tenant acme"))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def unpriced(as_json: bool, tenant: str | None) -> None:
    """List models without a price and what is at stake: events, tokens, days, users. What they would cost is not guessed.

    `tokencogs prices assign MODEL --like SELLER/MODEL` says what a name means and prices what is booked.
    """
    engine = app_engine()
    rows = suspense(engine, context(engine, chosen(tenant)))
    if as_json:
        dump(rows)
        return
    for row in rows:
        click.echo(
            f"{row['seller']}/{row['model']}\t{row['reason']}\t{row['events']} events\t{row['input_tokens']} in "
            f"{row['output_tokens']} out\t{row['days']} days\t{row['users']} users\t{row['first_seen']} to {row['last_seen']}"
        )
    if not rows:
        click.echo("every event has a price")


@click.group(epilog=example("tokencogs prices hook set https://hooks.example/finance --tenant acme"))
def hook() -> None:
    """The address that is told of models without a price, once for each, by `tokencogs serve` or `hook send`."""


@hook.command(name="set", epilog=example("tokencogs prices hook set https://hooks.example/finance --tenant acme"))
@click.argument("url")
@tenant_option
def set_(url: str, tenant: str | None) -> None:
    """Send alerts to URL by POST, as JSON."""
    engine = app_engine()
    click.echo(alerts.set_hook(engine, context(engine, chosen(tenant)), url, actor())["url"])


@hook.command(epilog=example("tokencogs prices hook show --tenant acme"))
@tenant_option
def show(tenant: str | None) -> None:
    """Print the address."""
    engine = app_engine()
    click.echo(alerts.hook(engine, context(engine, chosen(tenant))) or "no address is set")


@hook.command(epilog=example("tokencogs prices hook remove --tenant acme"))
@tenant_option
def remove(tenant: str | None) -> None:
    """Send no more alerts."""
    engine = app_engine()
    click.echo(f"removed\t{alerts.remove_hook(engine, context(engine, chosen(tenant)), actor())['url']}")


@hook.command(epilog=example("tokencogs prices hook send --tenant acme"))
@tenant_option
def send(tenant: str | None) -> None:
    """Tell the address now of models that it was not told of; `tokencogs serve` with the owner's login does it by itself."""
    engine = app_engine()
    click.echo(f"{alerts.alert(engine, context(engine, chosen(tenant)))} models told")
