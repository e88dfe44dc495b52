"""What did the hours of pools cost by their schedules, and what did capacity cost that nobody used?"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import Any

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.prices_options import actor, dump
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.pool_bill_news import Billed, described
from accounting.ledger.pool_billing import bill_schedule
from accounting.moments import instant
from accounting.money import format_plain, from_line, to_line
from accounting.selfhosted.imports.read_costs import ReadCosts
from accounting.storage.engine import app_engine
from accounting.storage.pool_bills import billed, unbilled
from accounting.storage.tenants import context

PERIOD = (
    click.option("--from", "since", required=True, help="A day (its first instant in UTC) or a moment."),
    click.option("--to", "until", required=True, help="Its end, not included."),
)


@click.command(epilog=example("tokencogs pools bill --from 2026-09-01 --to 2026-10-01"))
@PERIOD[0]
@PERIOD[1]
@click.option("--replace-imported", is_flag=True, help="Also hours whose bill was imported.")
@tenant_option
def bill(since: str, until: str, replace_imported: bool, tenant: str | None) -> None:
    """Bill every ended hour of all pools by its schedule and rates. What is the same already is not written again."""
    engine = app_engine()
    done = bill_schedule(
        engine, context(engine, chosen(tenant)), *_period(since, until), actor(), replace_imported=replace_imported
    )
    told(done)


@click.command(epilog=example("tokencogs pools bills --from 2026-09-01 --to 2026-09-02 --pool chat"))
@PERIOD[0]
@PERIOD[1]
@click.option("--pool", "pool_id", help="Only of this one.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with what each bill is made of.")
@tenant_option
def bills(since: str, until: str, pool_id: str | None, as_json: bool, tenant: str | None) -> None:
    """Print the bills of pool hours, the newest of each hour, and their total."""
    engine = app_engine()
    _print("pool_id", billed(engine, context(engine, chosen(tenant)), *_period(since, until), pool_id), as_json)


@click.command(epilog=example("tokencogs pools unused --from 2026-09-01 --to 2026-10-01"))
@PERIOD[0]
@PERIOD[1]
@click.option("--rate", "rate_id", help="Only of this one.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def unused(since: str, until: str, rate_id: str | None, as_json: bool, tenant: str | None) -> None:
    """Print what reserved and owned capacity cost that no pool was scheduled on."""
    engine = app_engine()
    _print("rate_id", unbilled(engine, context(engine, chosen(tenant)), *_period(since, until), rate_id), as_json)


def told(done: Billed) -> None:
    """What a run wrote and what it could not; exit code 1 where something has no bill."""
    said = described(done, ReadCosts())
    sums = ", ".join(f"{amount} {currency}" for currency, amount in said["totals"].items())
    click.echo(
        f"hours: {done.written} written ({done.replaced} in place of another bill), {done.unchanged} as before, "
        f"{done.kept} imported ones kept; {sums or 'nothing'} in all"
    )
    for one in said["missing"]:
        click.echo(
            f"{one['pool_id']}: {one['hours']} hours without a bill: {one['reason']} ({one['detail']})", err=True
        )
    for one in said["unplaced"]:
        lines = ", ".join(map(str, one["lines"][:5])) + (" ..." if len(one["lines"]) > 5 else "")
        click.echo(f"{one['pool_id']}: {one['amount']} has no place: {one['reason']} (lines {lines})", err=True)
    if done.missing or done.unplaced:
        sys.exit(FAILURE)


def _period(since: str, until: str) -> tuple[datetime, datetime]:
    return instant("--from", since), instant("--to", until)


def _print(subject: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        dump(rows)
        return
    totals: Counter[str] = Counter()
    counts = Counter(row["billing_currency"] for row in rows)
    for row in rows:
        totals[row["billing_currency"]] += to_line(Decimal(row["amount"]))
        hours = "unknown" if row["gpu_hours"] is None else row["gpu_hours"]
        source = f"{row['source']} {row['source_id']}" if row["source_id"] else row["source"]
        click.echo(
            f"{row[subject]}\t{row['hour']}\t{row['amount']} {row['billing_currency']}\t{hours} GPU-hours\t{source}"
        )
    for currency, units in sorted(totals.items()):
        click.echo(f"total\t{counts[currency]} hours\t{format_plain(from_line(units))} {currency}")
