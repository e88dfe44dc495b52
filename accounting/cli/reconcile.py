"""How is a seller's bill compared with the ledger by hand?"""

from __future__ import annotations

import sys
from datetime import datetime
from decimal import Decimal

import click
import msgspec

from accounting.cli.group import FAILURE, example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.ledger.stated_total import COSTS, Stated, compare, held
from accounting.money import format_plain, parse_amount
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.command(
    epilog=example(
        "tokencogs reconcile openai 2026-07 --invoice 96.91 --tenant demo",
        "tokencogs reconcile anthropic 2026-07 --cost-export 1204.5071 --cost contracted --json",
    )
)
@click.argument("seller")
@click.argument("month", metavar="MONTH", type=click.DateTime(["%Y-%m"]))
@click.option("--invoice", metavar="AMOUNT", help="What the seller's invoice says, without tax.")
@click.option("--cost-export", metavar="AMOUNT", help="What the seller's cost export adds up to.")
@click.option(
    "--recomputed", metavar="AMOUNT", help="What somebody worked out from our own prices: shown, never compared with."
)
@click.option("--cost", type=click.Choice(COSTS), default="billed", show_default=True, help="Which cost of the ledger.")
@click.option("--currency", default="USD", show_default=True, help="Of the amounts.")
@click.option("--within", default="0.01", show_default=True, metavar="AMOUNT", help="What both may differ by.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def reconcile(
    seller: str,
    month: datetime,
    invoice: str | None,
    cost_export: str | None,
    recomputed: str | None,
    cost: str,
    currency: str,
    within: str,
    as_json: bool,
    tenant: str | None,
) -> None:
    """Compare the charges of SELLER in the UTC month MONTH (YYYY-MM) with what the seller says it billed.

    What was billed beyond the ledger was never logged: failed and retried calls, keys of others. Exit code 1 where the two differ by more
    than --within.
    """
    figures = [
        Stated(name, _amount(name, amount), independent)
        for name, amount, independent in (
            ("invoice", invoice, True),
            ("cost-export", cost_export, True),
            ("recomputed", recomputed, False),
        )
        if amount is not None
    ]
    if not any(one.independent for one in figures):
        reason = "a figure made from our own prices proves nothing; name what the seller says"
        raise InvalidInput("--invoice or --cost-export", None, reason)
    engine = app_engine()
    found = held(engine, context(engine, chosen(tenant)), seller, month.date(), currency, cost)
    compared = compare(found.cost, figures, _amount("within", within))
    told = compared.to_json() | {
        "seller": seller,
        "month": f"{month:%Y-%m}",
        "cost": cost,
        "billing_currency": currency,
        "recomputed": next((format_plain(one.amount) for one in figures if not one.independent), None),
        "unpriced_events": found.unpriced,
        "pending_events": found.pending,
    }
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(told)))
    else:
        for name, value in told.items():
            click.echo(f"{name}\t{'-' if value is None else value}")
    if not compared.reconciled:
        sys.exit(FAILURE)


def _amount(name: str, written: str) -> Decimal:
    return parse_amount(written, f"--{name}")
