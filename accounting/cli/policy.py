"""By which dated rules are a tenant's margins made?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.revenue.account_rules import DEFAULT, RULES, list_account_rules, put_account_rule
from accounting.storage.engine import app_engine
from accounting.storage.purposes import LINES, PURPOSES, list_purposes, put_purpose
from accounting.storage.tenants import context


@click.group(
    epilog=example(
        "tokencogs policy purpose free cost_of_revenue --from 2026-07-01 --tenant demo",
        "tokencogs policy account-revenue use --from 2026-07-01 --tenant demo",
    )
)
def policy() -> None:
    """What purposes count as, and where account revenue goes; each from a day on."""


@policy.command(epilog=example("tokencogs policy purpose free cost_of_revenue --from 2026-07-01 --tenant demo"))
@click.argument("purpose", type=click.Choice(PURPOSES))
@click.argument("line", type=click.Choice(LINES))
@click.option("--from", "effective_from", required=True, help="First reporting day it holds, YYYY-MM-DD.")
@tenant_option
def purpose(purpose: str, line: str, effective_from: str, tenant: str | None) -> None:
    """Put the cost of PURPOSE on LINE of the statement from a day on."""
    engine = app_engine()
    row = put_purpose(engine, context(engine, chosen(tenant)), purpose, line, effective_from)
    click.echo(f"purpose {row['purpose']}: {row['statement_line']} from {row['effective_from']}")


@policy.command(
    name="account-revenue", epilog=example("tokencogs policy account-revenue use --from 2026-07-01 --tenant demo")
)
@click.argument("rule", type=click.Choice(RULES))
@click.option("--from", "effective_from", required=True, help="First reporting day it holds, YYYY-MM-DD.")
@tenant_option
def account_revenue(rule: str, effective_from: str, tenant: str | None) -> None:
    """Say where revenue that names an account and no user goes: account (stays), seats (equally), use (by requests)."""
    engine = app_engine()
    row = put_account_rule(engine, context(engine, chosen(tenant)), rule, effective_from)
    click.echo(f"account revenue: {row['rule']} from {row['effective_from']}")


@policy.command(name="list", epilog=example("tokencogs policy list --tenant demo"))
@tenant_option
def list_(tenant: str | None) -> None:
    """Print all rules: own ones and the defaults."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    for row in list_purposes(engine, settings):
        origin = "own" if row["own"] else "default"
        click.echo(f"purpose\t{row['purpose']}\t{row['statement_line']}\t{row['effective_from']}\t{origin}")
    for row in list_account_rules(engine, settings):
        click.echo(f"account revenue\t\t{row['rule']}\t{row['effective_from']}\town")
    click.echo(f"account revenue\t\t{DEFAULT}\t\tdefault")
