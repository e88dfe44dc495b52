"""How are reports read on a terminal? The same figures as the API's."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.reports import REPORTS, Report, run
from accounting.reports.html import to_html
from accounting.reports.query import ReportQuery
from accounting.reports.xlsx import to_xlsx
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context

FORMATS = ("table", "json", "csv", "html", "xlsx")
_NAMES = "\n\n".join(
    f"{kind.name}: {kind.description}. Groups by {', '.join(kind.group_by) or 'nothing'}." for kind in REPORTS.values()
)


@click.command(
    help=f"Print the report NAME of the period [from, to).\n\n{_NAMES}",
    epilog=example(
        "tokencogs report cost-of-revenue --from 2026-10-01 --to 2026-11-01 --tenant demo",
        "tokencogs report user-margin --from 2026-10-01 --to 2026-11-01 --limit 10 --format csv",
        "tokencogs report cost-of-revenue --from 2026-10-01 --to 2026-11-01 --currency EUR",
        "tokencogs report explore --from 2026-10-01 --to 2026-11-01 --group-by day,model --filter purpose:production",
        "tokencogs report make-or-buy --from 2026-10-01 --to 2026-11-01 --filter pool:chat --filter model:openai/gpt-5.4-mini",
        "tokencogs report plan-profitability --from 2026-10-01 --to 2026-11-01 --format xlsx --out plans.xlsx",
    ),
)
@click.argument("name", type=click.Choice(sorted(REPORTS)))
@click.option("--from", "start", required=True, help="First day, or a moment with its UTC offset.")
@click.option("--to", "end", required=True, help="First day after the period, or a moment.")
@click.option("--tz", help="IANA zone whose days and months are meant; default: the tenant's.")
@click.option("--group-by", help="Names with commas between; default: the report's own.")
@click.option("--limit", type=click.IntRange(1), help="At most this many detail rows.")
@click.option(
    "--currency", help="One currency for all amounts, each day at its own rate (see tokencogs fx); default: as billed."
)
@click.option(
    "--filter", "filters", multiple=True, metavar="NAME:VALUE", help="Only usage that has it; may be repeated."
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file; xlsx needs it.")
@tenant_option
def report(
    name: str,
    start: str,
    end: str,
    tz: str | None,
    group_by: str | None,
    limit: int | None,
    currency: str | None,
    filters: tuple[str, ...],
    form: str,
    out: Path | None,
    tenant: str | None,
) -> None:
    if form == "xlsx" and out is None:
        raise InvalidInput("out", None, "a workbook is not for a terminal; name a file with --out")
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    query = ReportQuery.parse(start, end, tz or settings.reporting_tz, group_by, limit, currency, filters)
    data = _written(run(engine, settings, name, query), form)
    if out is not None:
        try:
            out.write_bytes(data)
        except OSError as error:
            raise InvalidInput("out", str(out), error.strerror or str(error)) from error
    else:
        # Bytes, so that line ends stay those of RFC 4180 as the API sends them.
        sys.stdout.buffer.write(data)


def _written(found: Report, form: str) -> bytes:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(found.to_json())) + b"\n"
    if form == "xlsx":
        return to_xlsx(found)
    texts = {"csv": found.to_csv, "html": lambda: to_html(found), "table": found.to_table}
    return texts[form]().encode()
