"""How do subscriptions, the revenue side of a margin, come in, and when are they paused or discounted?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.revenue.imports import import_subscriptions_csv
from accounting.revenue.terms import KINDS, put_term
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs subscription import subscriptions.csv --tenant demo"))
def subscription() -> None:
    """Who pays what, from when until when."""


@subscription.command(name="import", epilog=example("tokencogs subscription import subscriptions.csv --tenant demo"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@tenant_option
def import_(file: Path, tenant: str | None) -> None:
    """Add or replace the subscriptions of the CSV FILE, by their ids.

    Columns: subscription_id, plan, user_id, account_id, monthly_price, currency, starts_on, ends_on and, as needed, quantity,
    interval_months, comped, trial_until, revenue_from (price, plan or lines); days half-open. Lines that can't be used are named on stderr,
    the rest is kept, and the exit code is 1.
    """
    engine = app_engine()
    result = import_subscriptions_csv(engine, context(engine, chosen(tenant)), file)
    click.echo(f"imported {result.imported}, rejected {len(result.rejected)}")
    for row in result.rejected:
        click.echo(f"line {row['line']}: {row['field']}={row['value']!r}: {row['reason']}", err=True)
    if result.rejected:
        sys.exit(FAILURE)


@subscription.command(
    epilog=example(
        "tokencogs subscription term sub-17 spring coupon --from 2026-04-01 --to 2026-07-01 --percent-off 20",
        "tokencogs subscription term sub-17 holiday pause --from 2026-08-01 --to 2026-09-01",
    )
)
@click.argument("subscription_id")
@click.argument("term_id")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--from", "starts_on", required=True, help="First day, YYYY-MM-DD.")
@click.option("--to", "ends_on", help="First day after it; default: from then on.")
@click.option("--percent-off", help="Of the price.")
@click.option("--amount-off", help="Off a month's price.")
@tenant_option
def term(
    subscription_id: str,
    term_id: str,
    kind: str,
    starts_on: str,
    ends_on: str | None,
    percent_off: str | None,
    amount_off: str | None,
    tenant: str | None,
) -> None:
    """Pause or discount a subscription on some days; the same TERM_ID again replaces it."""
    engine = app_engine()
    row = put_term(
        engine,
        context(engine, chosen(tenant)),
        subscription_id,
        term_id,
        kind=kind,
        starts_on=starts_on,
        ends_on=ends_on,
        percent_off=percent_off,
        amount_off=amount_off,
    )
    click.echo(f"{row['kind']} {row['term_id']} of {row['subscription_id']} from {row['starts_on']}")
