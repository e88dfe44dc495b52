"""How does a person state one price, or take one back?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor, for_tenant_option, show, writer
from accounting.errors import InvalidInput
from accounting.storage.price_entry import enter_rows, withdraw_row


@click.command(
    epilog=example(
        "tokencogs prices add acme acme-chat-2 uncached_input=2 output=6 --set effective_from=2026-01-01",
        "tokencogs prices add openai gpt-4o uncached_input=2 output=8 --set effective_from=2026-01-01 --for-tenant acme",
    )
)
@click.argument("seller")
@click.argument("model")
@click.argument("prices", nargs=-1, required=True, metavar="CLASS=PRICE...")
@click.option(
    "--set",
    "conditions",
    multiple=True,
    metavar="FIELD=VALUE",
    help="A condition or a source: effective_from (needed), effective_until, service_tier, above_input_tokens, region, currency, "
    "source, checked_on, ... as in `tokencogs prices template csv`.",
)
@for_tenant_option
def add(seller: str, model: str, prices: tuple[str, ...], conditions: tuple[str, ...], for_tenant: str | None) -> None:
    """State one price row of SELLER for MODEL; prices are per million tokens, per thousand counted things.

    It is in force at once, in place of what the list says. Events booked before stay as they are.
    """
    record = {"seller": seller, "model": model}
    for part in (*prices, *conditions):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise InvalidInput(name, value or None, "NAME=VALUE is expected")
        if name in record:
            raise InvalidInput(name, value, "is given twice")
        record[name] = value
    show(enter_rows(writer(for_tenant), [record], actor(), tenant=for_tenant), as_json=False)


@click.command(epilog=example("tokencogs prices withdraw 1f0c6b5de0a1b2c3 --for-tenant acme"))
@click.argument("sku_price_id")
@for_tenant_option
def withdraw(sku_price_id: str, for_tenant: str | None) -> None:
    """Take the row SKU_PRICE_ID back as never right. It stays in the tables, as charges may point at it."""
    show([withdraw_row(writer(for_tenant), sku_price_id, actor(), tenant=for_tenant)], as_json=False)
