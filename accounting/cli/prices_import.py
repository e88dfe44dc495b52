"""How do prices of a source come into the book, and what would they change?"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from datetime import UTC, date, datetime
from pathlib import Path

import click
from sqlalchemy import Engine

from accounting.cli.group import example
from accounting.cli.prices_options import actor, dump, for_tenant_option, show, writer
from accounting.cli.tenant_option import tenant_option
from accounting.errors import InvalidInput
from accounting.moments import moment
from accounting.pricing.genai_prices_source import SOURCE as PACKAGE
from accounting.pricing.sources import FILES, TYPED, price_file, read
from accounting.pricing.sources.statement import Statement
from accounting.storage.engine import app_engine, owner_engine
from accounting.storage.price_entry import siblings
from accounting.storage.price_imports import Plan, import_statement, plan_import
from accounting.storage.price_show import tariff_json
from accounting.storage.price_views import difference
from accounting.storage.price_views import imports as recorded
from accounting.storage.tariffs import seed_list_tariffs

SOURCES = (PACKAGE, *FILES)


@click.command(
    name="import",
    epilog=example(
        "tokencogs prices import litellm model_prices_and_context_window.json --as-of 2026-11-28",
        "tokencogs prices import csv our-prices.csv --for-tenant acme",
        "tokencogs prices import genai-prices",
    ),
)
@click.argument("source", type=click.Choice(SOURCES))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--as-of", metavar="DATE", help="Day from which undated prices of FILE hold. Default: today (UTC).")
@click.option("--source-version", help="What the source calls this version. Default: the file's name.")
@for_tenant_option
def import_(
    source: str, file: Path | None, as_of: str | None, source_version: str | None, for_tenant: str | None
) -> None:
    """Read prices of SOURCE from FILE (plain or .gz) into the book.

    A price of an undated table holds from --as-of until a later table changes or drops it; import tables in the order of their days. A
    price that sources state differently is only proposed (`tokencogs prices list --proposed`). genai-prices is the installed package and
    takes no FILE. The same file as of the same day again changes nothing.
    """
    if source == PACKAGE:
        if file is not None or for_tenant is not None:
            raise InvalidInput("source", source, "is the installed package: without FILE and --for-tenant")
        click.echo(f"{seed_list_tariffs(owner_engine())} new rows")
        return
    day = _day(as_of)
    engine = writer(for_tenant)
    statement, file_hash = _read(source, file, source_version, engine, for_tenant)
    done = import_statement(engine, statement, file_hash, actor(), as_of=day, tenant=for_tenant)
    if done.plan is None:
        click.echo(f"import {done.import_id}: this file as of {day} is recorded already; nothing changed")
        return
    click.echo(f"import {done.import_id} of {source} as of {day}: {_counts(done.plan)}")
    _say_findings(statement, done.import_id)


@click.command(
    epilog=example(
        "tokencogs prices diff --known-at 2026-07-31",
        "tokencogs prices diff litellm model_prices.json --as-of 2026-11-28",
    )
)
@click.argument("source", type=click.Choice(FILES), required=False)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--as-of", metavar="DATE", help="Of FILE. Default: today (UTC).")
@click.option("--known-at", metavar="MOMENT", help="Compare the book as known then.")
@click.option("--until", metavar="MOMENT", help="With the book as known at this later moment. Default: now.")
@click.option("--seller", help="Only of this one.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@for_tenant_option
def diff(
    source: str | None,
    file: Path | None,
    as_of: str | None,
    known_at: str | None,
    until: str | None,
    seller: str | None,
    as_json: bool,
    for_tenant: str | None,
) -> None:
    """What changed in the book since a moment, or what importing FILE of SOURCE would change. Records nothing."""
    if source is not None:
        if known_at is not None or until is not None:
            raise InvalidInput("known-at", known_at or until, "a file is compared with the book of now")
        statement, _ = _read(source, file, None, app_engine(), for_tenant)
        plan = plan_import(app_engine(), statement, _day(as_of), for_tenant)
        found = {
            "new": [tariff_json(row) | {"state": plan.states[row.sku_price_id]} for row in plan.changes.new],
            "ended": [tariff_json(row) | {"state": "ended"} for row in plan.changes.ended],
            "withdrawn": [tariff_json(row) | {"state": "withdrawn"} for row in plan.changes.withdrawn],
        }
    else:
        since = moment("known-at", known_at)
        if since is None:
            raise InvalidInput("known-at", None, "say since when, or name SOURCE and FILE")
        found = difference(app_engine(), for_tenant or "", since, moment("until", until))
        found = {name: [row | {"state": name} for row in rows] for name, rows in found.items()}
    found = {name: [row for row in rows if seller in (None, row["seller"])] for name, rows in found.items()}
    if as_json:
        dump(found)
        return
    for rows in found.values():
        show(rows, as_json=False)
    click.echo(", ".join(f"{len(rows)} {name}" for name, rows in found.items()))


@click.command(epilog=example("tokencogs prices imports", "tokencogs prices imports --findings --json"))
@click.option("--findings", is_flag=True, help="With what of each source could not be taken over, by name.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def imports(findings: bool, as_json: bool, tenant: str | None) -> None:
    """List the imports of files, the newest first: number, source, version, day, when, by whom, counts."""
    rows = recorded(app_engine(), tenant or "", findings)
    if as_json:
        dump(rows)
        return
    for row in rows:
        head = "\t".join(str(row[name]) for name in ("import_id", "source", "source_version", "as_of", "recorded_at"))
        click.echo(
            f"{head}\t{row['created_by']}\t" + " ".join(f"{name}={count}" for name, count in row["counts"].items())
        )
        for name, what in row.get("findings", {}).items():
            click.echo(f"  {name}: {what}")


@click.command(name="template", epilog=example("tokencogs prices template csv > our-prices.csv"))
@click.argument("kind", type=click.Choice((price_file.CSV, price_file.YAML)))
def template_(kind: str) -> None:
    """Print a price file to fill in: all fields, one example row. Prices are per million tokens, per thousand counted things."""
    click.echo(price_file.template(kind), nl=False)


def _day(text: str | None) -> date:
    try:
        return datetime.now(UTC).date() if text is None else date.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput("as-of", text, "is no day such as 2026-11-28") from error


def _read(
    source: str, file: Path | None, version: str | None, engine: Engine, tenant: str | None
) -> tuple[Statement, str]:
    if file is None:
        raise InvalidInput("FILE", None, f"{source} is read from a file")
    content = file.read_bytes()
    if file.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InvalidInput("FILE", file.name, f"is no gzip file: {error}") from error
    known = siblings(engine, tenant) if source in TYPED else ()
    return read(source, content, version or file.name, known), hashlib.sha256(content).hexdigest()


def _counts(plan: Plan) -> str:
    return ", ".join(f"{count} {name}" for name, count in plan.counts.items())


def _say_findings(statement: Statement, import_id: int) -> None:
    found = {name: what for name, what in statement.findings.to_json().items() if what}
    for name, what in found.items():
        assert isinstance(what, dict | list)
        click.echo(f"not taken over as it is: {len(what)} {name}", err=True)
    if found:
        click.echo(f"by name: tokencogs prices imports --findings (import {import_id})", err=True)
