"""Which plans does a tenant sell, and at which prices?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.revenue.plan_prices import UNITS, list_plan_prices, put_plan_price
from accounting.revenue.plans import KINDS, list_plans, put_plan
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(
    epilog=example(
        "tokencogs plan set pro --display-name Pro --tenant demo",
        "tokencogs plan price pro 30.00 --from 2026-04-01 --tenant demo",
    )
)
def plan() -> None:
    """Plans of a tenant and their dated prices."""


@plan.command(name="set", epilog=example("tokencogs plan set pro --display-name Pro --kind flat --tenant demo"))
@click.argument("name")
@click.option("--display-name", help="Default: NAME.")
@click.option("--kind", type=click.Choice(KINDS), help="How the plan earns; default: flat, or what it was.")
@click.option("--acquisition-cost", help="What winning one subscriber costs, for payback; default: not known.")
@tenant_option
def set_(
    name: str, display_name: str | None, kind: str | None, acquisition_cost: str | None, tenant: str | None
) -> None:
    """Make the plan NAME, or change what is given of it."""
    engine = app_engine()
    row = put_plan(engine, context(engine, chosen(tenant)), name, display_name, kind, acquisition_cost)
    click.echo(f"plan {row['plan']}: {row['display_name']}")


@plan.command(
    epilog=example(
        "tokencogs plan price pro 30.00 --from 2026-04-01",
        "tokencogs plan price pro 300.00 --interval-months 12 --from 2026-04-01",
        "tokencogs plan price api 20.00 --from 2026-04-01 --unit requests --included 1000 --unit-price 0.02",
    )
)
@click.argument("name")
@click.argument("price")
@click.option("--from", "effective_from", required=True, help="First day the price holds, YYYY-MM-DD.")
@click.option("--interval-months", type=int, default=1, show_default=True, help="Months that PRICE is for.")
@click.option("--unit", type=click.Choice(UNITS), help="What is metered; default: nothing.")
@click.option("--included", type=int, default=0, show_default=True, help="Units free in each calendar month.")
@click.option("--unit-price", help="Price of --unit-per units beyond.")
@click.option("--unit-per", type=int, default=1, show_default=True)
@tenant_option
def price(
    name: str,
    price: str,
    effective_from: str,
    interval_months: int,
    unit: str | None,
    included: int,
    unit_price: str | None,
    unit_per: int,
    tenant: str | None,
) -> None:
    """State the PRICE of the plan NAME from a day on; subscriptions with revenue_from plan follow it."""
    engine = app_engine()
    row = put_plan_price(
        engine,
        context(engine, chosen(tenant)),
        name,
        price=price,
        effective_from=effective_from,
        interval_months=interval_months,
        unit=unit,
        included_units=included,
        unit_price=unit_price,
        unit_per=unit_per,
    )
    click.echo(f"plan {row['plan']}: {row['price']} {row['billing_currency']} from {row['effective_from']}")


@plan.command(name="list", epilog=example("tokencogs plan list --tenant demo"))
@tenant_option
def list_(tenant: str | None) -> None:
    """Print plans and their prices."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    prices = list_plan_prices(engine, settings)
    for row in list_plans(engine, settings):
        click.echo(f"{row['plan']}  {row['display_name']}  {row['kind']}")
        for one in prices:
            if one["plan"] == row["plan"]:
                beyond = (
                    f", {one['included_units']} {one['unit']} included, then {one['unit_price']} for {one['unit_per']}"
                    if one["unit"]
                    else ""
                )
                months = f"{one['interval_months']} months" if one["interval_months"] > 1 else "a month"
                click.echo(f"  {one['price']} {one['billing_currency']} {months} from {one['effective_from']}{beyond}")
