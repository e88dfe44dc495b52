"""What would booked events cost by the price book of now, and shall the difference be booked?"""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec
from tqdm import tqdm

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.reprice import CHUNK, RepriceFilter
from accounting.ledger.reprice import reprice as again
from accounting.reports.query import ReportQuery
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context


@click.command(
    epilog=example(
        "tokencogs reprice --from 2026-01-01 --to 2026-02-01 --dry-run",
        "tokencogs reprice --from 2026-01-01 --to 2026-02-01 --where seller=openai,model=gpt-5.4 --apply",
    )
)
@click.option(
    "--from", "start", required=True, help="First day, in the tenant's zone, or a moment with its UTC offset."
)
@click.option("--to", "end", required=True, help="First day after the period, or a moment.")
@click.option(
    "--where",
    default="",
    metavar="NAME=VALUE,...",
    help="Only these events: seller, model, user, account, feature, purpose or status (priced, unpriced).",
)
@click.option(
    "--apply/--dry-run",
    "apply",
    default=False,
    show_default="--dry-run",
    help="Append correction charges, or only show what would change.",
)
@click.option("--run-id", help="Name of the settlement run with --apply. Default: made from the time.")
@click.option(
    "--chunk",
    type=click.IntRange(1),
    default=CHUNK,
    show_default=True,
    metavar="EVENTS",
    help="Events of one transaction with --apply: fewer of them let ingest wait less.",
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most this many lines.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@tenant_option
def reprice(
    start: str,
    end: str,
    where: str,
    apply: bool,
    run_id: str | None,
    chunk: int,
    limit: int,
    form: str,
    tenant: str | None,
) -> None:
    """Rate booked events again by the prices known now, and print what would change: whose, from what to what, and why.

    With --apply the differences are appended as correction charges; nothing is edited, and doing it again changes nothing. A run
    that was stopped is finished by running it again.
    """
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    period = ReportQuery.parse(start, end, settings.reporting_tz)
    chosen_events = RepriceFilter.parse(where)
    books = load_layers(engine, settings.tenant)
    with tqdm(unit=" events", unit_scale=True, disable=not sys.stderr.isatty(), leave=False) as bar:

        def progress(read: int, total: int) -> None:
            bar.total = max(total, read)
            bar.update(read - bar.n)

        plan = again(
            engine,
            settings,
            books,
            period.since,
            period.until,
            where=chosen_events,
            apply=apply,
            run_id=run_id,
            chunk=chunk,
            progress=progress,
        )
    found = plan.to_json(limit)
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    for line in found["lines"]:
        click.echo(_line(line))
    left_out = len(plan.lines()) - len(found["lines"])
    if left_out:
        click.echo(f"... and {left_out} lines more; --limit shows them")
    for total in found["totals"]:
        click.echo(
            f"total\t{total['events']} events\t{total['old_contracted_cost']} -> {total['new_contracted_cost']} "
            f"{total['billing_currency']}\t{_signed(total['difference'])}"
        )
    counts = (("read", "events_read"), ("changed", "events_changed"), ("still unpriced", "events_still_unpriced"))
    click.echo(", ".join(f"{name} {found[key]}" for name, key in counts) + _rest(found))


def _line(line: dict[str, Any]) -> str:
    cost = f"{_shown(line['old_contracted_cost'])} -> {_shown(line['new_contracted_cost'])} {line['billing_currency']}"
    user = line["user_id"] or "(no user)"
    return "\t".join(
        [line["model"], user, line["cause"], f"{line['events']} events", cost, _signed(line["difference"])]
    )


def _rest(found: dict[str, Any]) -> str:
    refused = f", refused {found['events_refused']}" if found["events_refused"] else ""
    skipped = f", moved meanwhile {found['events_skipped']}" if found["events_skipped"] else ""
    applied = f"; run {found['run_id']}: {found['charges']} charges appended" if found["run_id"] else ""
    return refused + skipped + applied


def _shown(cost: str | None) -> str:
    return "unpriced" if cost is None else cost


def _signed(amount: str) -> str:
    return amount if amount.startswith("-") else f"+{amount}"
