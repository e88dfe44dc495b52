"""How is a month closed by hand, and which are closed?"""

from __future__ import annotations

import getpass
from datetime import datetime

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.closing import ACCEPTABLE, close_month, closed
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.command(epilog=example("tokencogs close --tenant demo", "tokencogs close 2026-07 --accept unpriced --dry-run"))
@click.argument("month", metavar="[MONTH]", type=click.DateTime(["%Y-%m"]), required=False)
@click.option(
    "--accept",
    multiple=True,
    type=click.Choice(ACCEPTABLE),
    help="Close although such events are left open, or although nothing was ever charged.",
)
@click.option("--dry-run", is_flag=True, help="Say whether the month can be closed; close nothing.")
@click.option("--by", help="Who closes it. Default: the user of this machine.")
@click.option("--note", default="", help="A word for the record.")
@tenant_option
def close(
    month: datetime | None, accept: tuple[str, ...], dry_run: bool, by: str | None, note: str, tenant: str | None
) -> None:
    """Close MONTH (YYYY-MM) for good; without one, print the closed months: month, when, by whom, note.

    What is booked later for a closed month goes to the first open one, and `tokencogs check` compares a closed month with what it
    was at the close. There is no reopening. What is left open is refused with what it is worth, unless accepted by name.
    """
    engine = app_engine()
    asked = context(engine, chosen(tenant))
    if month is None:
        for row in closed(engine, asked):
            click.echo(f"{row['month']:%Y-%m}\t{row['closed_at'].isoformat()}\t{row['closed_by']}\t{row['note']}")
        return
    who = by or getpass.getuser()
    row = close_month(engine, asked, month.date(), who, accept=accept, note=note, dry_run=dry_run)
    click.echo(f"{month:%Y-%m} {'can be closed' if dry_run else 'is closed'}")
    if not row["totals"]:
        click.echo("nothing was ever charged in it")
    for currency, totals in row["totals"].items():
        click.echo(f"{currency}\teffective cost {totals['effective_cost']}\tbilled cost {totals['billed_cost']}")
