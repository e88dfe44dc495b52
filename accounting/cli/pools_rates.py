"""What does a GPU-hour cost: stated by hand, or imported as a candidate that a person approves?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args

import click

from accounting.cli.group import FAILURE, example
from accounting.cli.pools_file import name_rejected, text_of
from accounting.cli.pools_settings import FROM_HELP
from accounting.cli.prices_options import actor, dump
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.moments import instant, moment
from accounting.selfhosted.imports.gpu_prices import read_gpu_prices
from accounting.selfhosted.rate_json import rate_of, rate_to_json
from accounting.selfhosted.rates import Kind
from accounting.storage import gpu_rates
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs pools rates list", "tokencogs pools rates candidates --gpu H100"))
def rates() -> None:
    """What a GPU-hour costs, by date: on demand, spot, reserved for a term, or owned."""


@rates.command(
    epilog=example(
        "tokencogs pools rates add h100 --kind on_demand --gpu H100 --price-per-hour 98.32 --gpus 8 --from 2026-09-01",
        "tokencogs pools rates add res --kind reserved --gpu H100 --gpus 4 --amount 5000 --from 2026-09-01 --until 2026-10-01",
        "tokencogs pools rates add own --kind owned --gpu H100 --gpus 1 --amount 30000 --life-years 4 --power-kw 0.7 "
        "--pue 1.2 --electricity-per-kwh 0.10 --hosting-per-hour 0.05 --from 2026-09-01",
    )
)
@click.argument("rate_id")
@click.option("--kind", type=click.Choice(get_args(Kind)), required=True)
@click.option("--gpu", required=True, help="The GPUs' name.")
@click.option("--gpus", type=int, default=1, show_default=True, help="How many the figures are for, together.")
@click.option("--price-per-hour", help="on_demand, spot: of all of them.")
@click.option("--amount", help="reserved: for the whole term; owned: purchase price.")
@click.option("--life-years", help="owned: straight line over years of 8,760 hours.")
@click.option("--power-kw", help="owned: drawn while scheduled.")
@click.option("--pue", help="owned: power usage effectiveness, 1 or more.")
@click.option("--electricity-per-kwh", help="owned: price of a kWh.")
@click.option("--hosting-per-hour", help="owned: whether scheduled or not.")
@click.option("--from", "since", required=True, help=FROM_HELP)
@click.option("--until", help="Its end; needed for a reserved term.")
@click.option("--currency", help="Default: the tenant's.")
@click.option("--source", default="by hand", show_default=True, help="Who says so.")
@tenant_option
def add(
    rate_id: str,
    kind: str,
    gpu: str,
    since: str,
    until: str | None,
    currency: str | None,
    source: str,
    tenant: str | None,
    **terms: Any,
) -> None:
    """State the rate RATE_ID from a date on. A later date under the same id is its next price."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    rate = rate_of(
        {name: value for name, value in terms.items() if value is not None},
        rate_id=rate_id,
        kind=kind,
        gpu=gpu,
        billing_currency=currency or settings.billing_currency,
        effective_from=instant("--from", since),
        effective_until=moment("--until", until),
        source=source,
    )
    new = gpu_rates.record_rate(engine, settings, rate, actor())
    hourly = rate_to_json(rate)["price_per_gpu_hour"]
    click.echo(
        f"rate {rate_id} {'stated' if new else 'is stated so already'}: {hourly} {rate.billing_currency} a GPU-hour"
    )


@rates.command(name="list", epilog=example("tokencogs pools rates list --gpu H100 --json"))
@click.option("--gpu", help="Only of GPUs with this in their name.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def list_(gpu: str | None, as_json: bool, tenant: str | None) -> None:
    """Print the rates in force, by id and date."""
    _print(gpu_rates.STATED, gpu, as_json, tenant)


@rates.command(epilog=example("tokencogs pools rates candidates --gpu H200"))
@click.option("--gpu", help="Only of GPUs with this in their name.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def candidates(gpu: str | None, as_json: bool, tenant: str | None) -> None:
    """Print imported rates that wait for a decision; none of them is in force."""
    _print(gpu_rates.PROPOSED, gpu, as_json, tenant)


@rates.command(name="import", epilog=example("tokencogs pools rates import gpu_prices.csv"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@tenant_option
def import_(file: Path, tenant: str | None) -> None:
    """Keep the GPU prices of FILE (a CSV of offers, or of instance prices over time) as candidates, with source and date."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    read = read_gpu_prices(text_of(file), file.name)
    found = gpu_rates.propose_rates(engine, settings, read.rates, actor())
    click.echo(" ".join(f"{name}={len(ids)}" for name, ids in found.items()) + f" rejected={len(read.rejected)}")
    name_rejected(read.rejected)
    for rate_id in found["differs"]:
        click.echo(f"{rate_id}: other terms are in force from that date, and stay", err=True)
    if read.rejected:
        sys.exit(FAILURE)


@rates.command(epilog=example("tokencogs pools rates approve aws/us-east-1/p5.48xlarge/on-demand"))
@click.argument("rate_ids", nargs=-1, required=True)
@tenant_option
def approve(rate_ids: tuple[str, ...], tenant: str | None) -> None:
    """Put the candidates RATE_IDS in force, all their dates; all of them or none."""
    _decide("approve", rate_ids, tenant)


@rates.command(epilog=example("tokencogs pools rates refuse akash/rtx-4060-ti/marketplace"))
@click.argument("rate_ids", nargs=-1, required=True)
@tenant_option
def refuse(rate_ids: tuple[str, ...], tenant: str | None) -> None:
    """Leave the candidates RATE_IDS out."""
    _decide("refuse", rate_ids, tenant)


@rates.command(epilog=example("tokencogs pools rates withdraw h100 --from 2026-09-01"))
@click.argument("rate_id")
@click.option("--from", "since", required=True, help="Which statement, by its beginning.")
@tenant_option
def withdraw(rate_id: str, since: str, tenant: str | None) -> None:
    """Take the rate RATE_ID of a date back as never right; bills stay until they are made again."""
    engine = app_engine()
    gpu_rates.withdraw_rate(engine, context(engine, chosen(tenant)), rate_id, instant("--from", since), actor())
    click.echo(f"rate {rate_id}: what was stated from {since} on is withdrawn")


def _decide(decision: str, rate_ids: tuple[str, ...], tenant: str | None) -> None:
    engine = app_engine()
    for row in gpu_rates.decide(engine, context(engine, chosen(tenant)), decision, rate_ids, actor()):
        click.echo(_line(row))


def _print(state: str, gpu: str | None, as_json: bool, tenant: str | None) -> None:
    engine = app_engine()
    found = gpu_rates.listed(engine, context(engine, chosen(tenant)), state, gpu)
    if as_json:
        dump(found)
        return
    for row in found:
        click.echo(_line(row))


def _line(row: dict[str, Any]) -> str:
    dates = f"[{row['effective_from']}, {row['effective_until'] or 'open'})"
    seen = f"seen {row['checked_on']}" if row["checked_on"] else f"by {row['created_by']}"
    return (
        f"{row['rate_id']}\t{row['kind']}\t{row['gpus']} x {row['gpu']}\t{row['price_per_gpu_hour']} "
        f"{row['billing_currency']} a GPU-hour\t{dates}\t{row['source']}, {seen}"
    )
