"""What would the recent workload cost under other prices, or by another model?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.ledger.impact import impact as asked
from accounting.ledger.impact_books import asked_book
from accounting.ledger.layers import Books
from accounting.pricing.sources.price_file import CSV, YAML, read_file
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context

_KINDS = {".csv": CSV, ".yaml": YAML, ".yml": YAML, ".json": YAML}


@click.command(
    epilog=example(
        "tokencogs prices impact --days 30",
        "tokencogs prices impact --days 30 --with announced.yaml --format json",
        "tokencogs prices impact --days 7 --model gpt-5.4=anthropic/claude-sonnet-4-5",
    )
)
@click.option(
    "--days", type=click.IntRange(1, 3660), default=30, show_default=True, help="How much of the recent workload."
)
@click.option(
    "--with",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Price rows of a CSV, YAML or JSON file.",
)
@click.option("--proposed", is_flag=True, help="Price rows that wait for a decision.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="A=B",
    help="Model B, or PROVIDER/B, in the place of model A, at the same tokens.",
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@tenant_option
def impact(
    days: int, file: Path | None, proposed: bool, models: tuple[str, ...], form: str, tenant: str | None
) -> None:
    """Rate the recent workload by other prices and compare with what it cost, by feature and plan.

    Without an option: by list rows that are announced, their start ahead. Dates of the asked rows are left aside.
    """
    if sum(map(bool, (file, proposed, models))) > 1:
        raise InvalidInput("--with", str(file), "of --with, --proposed and --model only one can be asked at a time")
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    until = datetime.now(UTC)
    swapped = swaps(models)
    books: Books = load_layers(engine, settings.tenant) if swapped else _book(engine, settings, file, proposed)
    found = asked(engine, settings, books, until - timedelta(days=days), until, models=swapped).to_json()
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    for line in found["lines"]:
        click.echo("\t".join([line["feature"] or "(no feature)", line["plan"], *_cells(line)]))
    for line in found["totals"]:
        click.echo("\t".join(["total", "", *_cells(line)]))
    click.echo(f"read {found['events_read']}, affected {found['events_affected']}, unpriced {found['events_unpriced']}")
    for warning in found["warnings"]:
        click.echo(f"note: {warning}")


def swaps(models: tuple[str, ...]) -> dict[str, str]:
    """A -> B of texts `A=B`. Raises InvalidInput."""
    found: dict[str, str] = {}
    for text in models:
        name, equals, other = text.partition("=")
        if not (equals and name.strip() and other.strip()):
            raise InvalidInput("model", text, "A=B is expected: the logged model, and the one in its place")
        found[name.strip()] = other.strip()
    return found


def _book(engine: Any, settings: Any, file: Path | None, proposed: bool) -> Books:
    if file is None:
        return asked_book(engine, settings, proposed=proposed)
    kind = _KINDS.get(file.suffix.lower())
    if kind is None:
        raise InvalidInput("--with", file.name, f"a file that ends in one of {', '.join(_KINDS)} is expected")
    statement = read_file(file.read_bytes(), kind, file.name)
    return asked_book(engine, settings, rows=statement.rows, names=statement.aliases)


def _cells(line: dict[str, Any]) -> list[str]:
    change = "" if line["difference_percent"] is None else f" ({line['difference_percent']} %)"
    cost = f"{line['cost_now']} -> {line['cost_then']} {line['billing_currency']}"
    return [f"{line['events']} events", cost, line["difference"] + change]
