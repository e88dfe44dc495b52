"""How do bills of pools come in from a biller's file?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.pools_bill import told
from accounting.cli.pools_file import name_rejected, text_of
from accounting.cli.prices_options import actor
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.ledger.pool_bill_imports import import_bills
from accounting.selfhosted.imports import focus
from accounting.selfhosted.imports.cost_file import read_cost_file
from accounting.storage.engine import app_engine
from accounting.storage.pool_bills import CSV, FOCUS
from accounting.storage.tenants import context


@click.command(
    name="import-bills",
    epilog=example(
        "tokencogs pools import-bills september.csv",
        "tokencogs pools import-bills focus.csv --format focus --resource i-0abc=chat --resource i-0def=chat",
    ),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice([CSV, FOCUS]), default=CSV, show_default=True)
@click.option(
    "--resource", "resources", multiple=True, metavar="ID=POOL", help="focus: whose a ResourceId is; may be repeated."
)
@click.option(
    "--cost", "cost_column", type=click.Choice(focus.COST_COLUMNS), default=focus.COST_COLUMNS[0], show_default=True
)
@tenant_option
def import_bills_(file: Path, form: str, resources: tuple[str, ...], cost_column: str, tenant: str | None) -> None:
    """Book the costs of FILE as bills of pool hours, in place of what stands there.

    csv: pool, cost, currency; hour, or from and until; gpu_hours where known. focus: rows of AWS, Azure, Google; a row is a pool's by its
    tag tokencogs:pool (or tokencogs_pool), else by --resource. A longer period is split by the GPU-hours scheduled in it.
    """
    engine = app_engine()
    read = read_cost_file(text_of(file), file.name, form, _mapped(resources), cost_column)
    done = import_bills(engine, context(engine, chosen(tenant)), read, form, file.name, actor())
    for left in read.left_out_sums():
        service = left["service"] or "no service"
        click.echo(f"left out: {left['reason']}\t{service}\t{left['rows']} rows\t{left['amount']} {left['currency']}")
    name_rejected(read.rejected)
    told(done)
    if read.rejected:
        sys.exit(FAILURE)


def _mapped(resources: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in resources:
        resource, equals, pool = one.rpartition("=")
        if not equals or not resource or not pool:
            raise InvalidInput("--resource", one, "ID=POOL is expected")
        found[resource] = pool
    return found
