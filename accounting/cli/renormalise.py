"""What would a changed rule make of the wire bodies already booked, and shall it?"""

from __future__ import annotations

from typing import Any

import click

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.renormalise import renormalise as again
from accounting.reports.query import ReportQuery
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context
from accounting.usage.formats.registry import FORMATS


@click.command(
    epilog=example(
        "tokencogs renormalise --from 2026-10-01 --to 2026-11-01 --dry-run",
        "tokencogs renormalise --from 2026-10-01 --to 2026-11-01 --format gemini --apply",
    )
)
@click.option(
    "--from", "start", required=True, help="First day, in the tenant's zone, or a moment with its UTC offset."
)
@click.option("--to", "end", required=True, help="First day after the period, or a moment.")
@click.option(
    "--format",
    "wire_format",
    type=click.Choice(sorted(FORMATS)),
    metavar="NAME",
    help="Only bodies of this wire format.",
)
@click.option(
    "--apply/--dry-run",
    "apply",
    default=False,
    show_default="--dry-run",
    help="Append revisions and corrections, or only show what would change.",
)
@tenant_option
def renormalise(start: str, end: str, wire_format: str | None, apply: bool, tenant: str | None) -> None:
    """Read the kept evidence of wire bodies again by today's rules, and print each event that they read otherwise.

    With --apply the newer reading is appended as a revision and the older one reversed; doing it again changes nothing.
    """
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    period = ReportQuery.parse(start, end, settings.reporting_tz)
    prices = load_layers(engine, settings.tenant)
    found = again(engine, settings, prices, period.since, period.until, apply=apply, wire_format=wire_format)
    for change in found["changes"]:
        click.echo(_line(change))
    click.echo(f"read {found['read']}, changes {len(found['changes'])}, applied {found['applied']}")


def _line(change: dict[str, Any]) -> str:
    fields = ", ".join(
        f"{name} {_shown(pair['old'])} -> {_shown(pair['new'])}" for name, pair in change["fields"].items()
    )
    cost = f"cost {_shown(change['old_cost'])} -> {_shown(change['new_cost'])}"
    return "\t".join(part for part in (change["event_id"], fields, cost, change["problem"]) if part)


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)
