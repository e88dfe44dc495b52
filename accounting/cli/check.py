"""Do the sums on a screen equal the ledger, and the ledger its components?"""

from __future__ import annotations

import sys
from datetime import datetime

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.check import check as compare
from accounting.ledger.check import differences
from accounting.ledger.closing import moved
from accounting.ledger.pool_check import check_pools
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.command(epilog=example("tokencogs check --tenant demo", "tokencogs check --tenant demo --month 2026-10"))
@click.option("--month", metavar="YYYY-MM", type=click.DateTime(["%Y-%m"]), help="Only this booking month.")
@tenant_option
def check(month: datetime | None, tenant: str | None) -> None:
    """Compare both rollups, the ledger and the sum of its components for every month, to the last digit.

    The lines of every settled pool hour must add up to its bill, in each basis; a closed month
    must be what it was at the close. Prints each difference and exits 1 where there is one.
    """
    engine = app_engine()
    asked, only = context(engine, chosen(tenant)), month.date() if month else None
    lines, hours = compare(engine, asked, only), check_pools(engine, asked, only)
    found = [line.describe() for line in differences(lines)] + [hour.describe() for hour in hours if hour.differs]
    found += [one.describe() for one in moved(engine, asked, lines, only)]
    for description in found:
        click.echo(description)
    if found:
        sys.exit(FAILURE)
    months = sorted({f"{line.booking_period:%Y-%m}" for line in lines})
    span = f"{months[0]} to {months[-1]}" if months else "nothing is booked"
    click.echo(f"exact: rollups = ledger = sum of components; {len(lines)} figures, {span}")
    if hours:
        click.echo(f"exact: {len(hours)} pool hours, lines = bill in every basis")
