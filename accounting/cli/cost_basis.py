"""Which cost is booked where a provider states its own?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.storage.cost_basis import BASES, list_rules, remove_rule, set_rule
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs cost-basis set openrouter reported --tenant demo"))
def cost_basis() -> None:
    """Rules by provider and surface. Without one the calculated cost is booked; the reported one is kept beside it."""


@cost_basis.command(
    name="set",
    epilog=example(
        "tokencogs cost-basis set openrouter reported", "tokencogs cost-basis set xai price_list --surface responses"
    ),
)
@click.argument("provider")
@click.argument("basis", type=click.Choice(BASES))
@click.option("--surface", default="", help="Only this one; its rule goes before that of the provider. Default: all.")
@tenant_option
def set_(provider: str, basis: str, surface: str, tenant: str | None) -> None:
    """Book the calculated cost (price_list) of PROVIDER, or the reported one, from now on."""
    engine = app_engine()
    click.echo(_line(set_rule(engine, context(engine, chosen(tenant)), provider, surface, basis)))


@cost_basis.command(name="list", epilog=example("tokencogs cost-basis list --tenant demo"))
@tenant_option
def list_(tenant: str | None) -> None:
    """Print the rules: provider, surface, basis, since when."""
    engine = app_engine()
    for rule in list_rules(engine, context(engine, chosen(tenant))):
        click.echo(_line(rule))


@cost_basis.command(epilog=example("tokencogs cost-basis remove openrouter"))
@click.argument("provider")
@click.option("--surface", default="", help="The rule of this one. Default: that of all.")
@tenant_option
def remove(provider: str, surface: str, tenant: str | None) -> None:
    """Take the rule of PROVIDER away; what was booked by it stays."""
    engine = app_engine()
    click.echo(f"removed\t{_line(remove_rule(engine, context(engine, chosen(tenant)), provider, surface))}")


def _line(rule: dict[str, str]) -> str:
    return f"{rule['provider']}\t{rule['surface'] or '(all)'}\t{rule['basis']}\t{rule['since']}"
