"""How do invoice lines come in, and whose are they?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.revenue.line_imports import import_lines_csv
from accounting.revenue.lines import LineResult, state_customer
from accounting.revenue.recognition import RATABLE
from accounting.revenue.stripe_import import import_stripe
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(
    epilog=example(
        "tokencogs revenue import invoices.json --format stripe --tenant demo",
        "tokencogs revenue import lines.csv --format csv --tenant demo",
    )
)
def revenue() -> None:
    """Invoice lines, refunds and payment fees."""


@revenue.command(name="import", epilog=example("tokencogs revenue import invoices.json --format stripe --tenant demo"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(["stripe", "csv"]), required=True)
@click.option(
    "--recognition",
    type=click.Choice(RATABLE),
    default="day",
    show_default=True,
    help="How lines are earned over their service period.",
)
@tenant_option
def import_(file: Path, form: str, recognition: str, tenant: str | None) -> None:
    """Book the lines of FILE, once each by their ids; what is known stays.

    stripe: JSON or JSON Lines of invoices, credit notes, balance transactions, credit grants and their balance transactions, subscriptions,
    customers and charges. An invoice line with `credit_grant` in its metadata is deferred until those credits are used. csv: columns
    line_id, kind, amount, currency, booked_on and, as needed, starts_on, ends_on, recognition, units, unit, invoice_id, refers_to,
    customer_id, subscription_id, user_id, account_id, plan; days half-open. What can't be used is named on stderr, the rest is kept, and
    the exit code is 1.
    """
    engine = app_engine()
    read = import_stripe if form == "stripe" else import_lines_csv
    result = read(engine, context(engine, chosen(tenant)), file, recognition)
    _tell(result)
    if result.rejected or result.conflicts:
        sys.exit(FAILURE)


@revenue.command(epilog=example("tokencogs revenue customer cus_17 --user user-17 --tenant demo"))
@click.argument("customer")
@click.option("--user", help="The user this customer is.")
@click.option("--account", help="The account this customer is.")
@tenant_option
def customer(customer: str, user: str | None, account: str | None, tenant: str | None) -> None:
    """Say which user or account a payment system's CUSTOMER is; lines that are here already follow."""
    engine = app_engine()
    row = state_customer(engine, context(engine, chosen(tenant)), customer, user, account)
    click.echo(f"customer {row['customer_id']}: user {row['user_id'] or '-'}, account {row['account_id'] or '-'}")


def _tell(result: LineResult) -> None:
    click.echo(
        f"accepted {result.accepted}, duplicates {result.duplicates}, conflicts {len(result.conflicts)}, "
        f"rejected {len(result.rejected)}, unmatched {len(result.unmatched)}"
    )
    for reason, count in sorted(result.skipped.items()):
        click.echo(f"skipped {count}: {reason}")
    for row in result.rejected:
        click.echo(f"entry {row['line']}: {row['field']}={row['value']!r}: {row['reason']}", err=True)
    for line_id in result.conflicts:
        click.echo(f"conflict: line {line_id} is known with another content; what is known stays", err=True)
