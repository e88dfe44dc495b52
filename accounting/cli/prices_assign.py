"""How does an unpriced model get a price, and its backlog with it, in one command?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.ledger.reprice import RepriceFilter, reprice
from accounting.moments import moment
from accounting.pricing.sources import price_file, read
from accounting.reports.unpriced import unpriced
from accounting.storage.engine import app_engine
from accounting.storage.price_entry import add_rows, siblings
from accounting.storage.price_entry import assign as say_like
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context


@click.command(
    epilog=example(
        "tokencogs prices assign gpt-4o-corp --like openai/gpt-4o --tenant acme",
        "tokencogs prices assign acme-chat-2 --file our-prices.csv --tenant acme --leave-backlog",
    )
)
@click.argument("model")
@click.option("--like", metavar="SELLER/MODEL", help="It costs what this one costs.")
@click.option(
    "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Or: its rows, in our CSV or YAML."
)
@click.option("--seller", help="Whose unpriced events are meant. Default: the only seller there is.")
@click.option("--from", "since", metavar="MOMENT", help="Price the backlog from here. Default: its first event.")
@click.option(
    "--leave-backlog",
    is_flag=True,
    help="For calls to come alone: events already booked are counted and stay as they are.",
)
@tenant_option
def assign(
    model: str,
    like: str | None,
    file: Path | None,
    seller: str | None,
    since: str | None,
    leave_backlog: bool,
    tenant: str | None,
) -> None:
    """Say what the unpriced MODEL costs, for this tenant, and price the events of it that are booked without a price."""
    if (like is None) == (file is None):
        raise InvalidInput("--like", like, "either --like or --file is expected")
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    backlog = [row for row in unpriced(engine, settings) if row["model"] == model and seller in (None, row["seller"])]
    if like is not None:
        done = say_like(engine, settings.tenant, model, like, actor(), seller=seller)
        click.echo(f"{done['seller']}/{model} is {done['like']}" + (f" ({done['rows']} rows)" if done["rows"] else ""))
    else:
        assert file is not None
        kind = price_file.CSV if file.suffix == ".csv" else price_file.YAML
        rows = [
            row
            for row in read(kind, file.read_bytes(), file.name, siblings(engine, settings.tenant)).rows
            if row.model == model
        ]
        if not rows:
            raise InvalidInput("--file", file.name, f"states no row of {model}")
        click.echo(f"{len(add_rows(engine, rows, actor(), tenant=settings.tenant))} rows of {model}")
    if not backlog:
        click.echo("nothing is booked without a price for it")
        return
    start = moment("from", since) or min(datetime.fromisoformat(row["first_seen"]) for row in backlog)
    until = max(datetime.fromisoformat(row["last_seen"]) for row in backlog) + timedelta(microseconds=1)
    plan = reprice(
        engine,
        settings,
        load_layers(engine, settings.tenant),
        start.astimezone(UTC),
        until,
        where=RepriceFilter(model=model, seller=seller, status="unpriced"),
        apply=not leave_backlog,
    )
    click.echo(f"{'would price' if leave_backlog else 'priced'} {plan.changed} of {plan.read} events")
