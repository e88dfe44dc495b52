"""How many replicas would a pool need, and what would its requests cost on other terms?"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import click
import msgspec

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.money import parse_amount
from accounting.reports.pool_what_if import Question, pool_what_if
from accounting.reports.query import ReportQuery
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context

_LINES = ("batch", "limit", "itl_ms", "ttft_ms", "replicas_needed", "cost_per_hour", "cost_per_million")


def _decimal(_: click.Context, option: click.Parameter, value: str | None) -> Decimal | None:
    return None if value is None else parse_amount(value, str(option.name))


@click.command(
    "what-if",
    epilog=example(
        "tokencogs pools what-if chat --from 2026-10-01 --to 2026-11-01 --requests-per-second 40 --itl-ms 30",
        "tokencogs pools what-if chat --from 2026-10-01 --to 2026-11-01 --curve qwen3-8b-b200 --gpu-hour 5.89",
        "tokencogs pools what-if chat --from 2026-10-01 --to 2026-11-01 --hit-share 0.6 --kv-ratio 0.25 --apart --json",
    ),
)
@click.argument("pool_id")
@click.option(
    "--from",
    "start",
    required=True,
    help="First day whose charged requests are meant, or a moment with its UTC offset.",
)
@click.option("--to", "end", required=True, help="First day after them, or a moment.")
@click.option("--requests-per-second", type=float, help="Forecast; default: the busiest hour of the period.")
@click.option("--ttft-ms", type=float, help="Promised time to first token; default: the pool's.")
@click.option("--itl-ms", type=float, help="Promised time between tokens; default: the pool's.")
@click.option(
    "--busy",
    default="0.8",
    show_default=True,
    callback=_decimal,
    help="Share of a replica's best throughput that may be used.",
)
@click.option("--curve", "curve_id", help="Another measured curve: another GPU, precision or model.")
@click.option(
    "--gpu-hour",
    callback=_decimal,
    help="What one of its GPUs costs an hour, in the pool's currency; default: as billed.",
)
@click.option("--context-factor", callback=_decimal, help="Prompts so many times as long.")
@click.option("--hit-share", callback=_decimal, help="Share of every prompt that is found in the cache.")
@click.option(
    "--kv-ratio", callback=_decimal, help="KV bytes a token against the pool's: GQA, MLA or a quantised cache."
)
@click.option("--apart", is_flag=True, help="Prompts and decode steps on replicas of their own.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@tenant_option
def what_if(pool_id: str, start: str, end: str, as_json: bool, tenant: str | None, **asked: Any) -> None:
    """What the requests charged to POOL_ID would need and cost on other terms, beside the pool as it is."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    query = ReportQuery.parse(start, end, settings.reporting_tz)
    found = pool_what_if(engine, settings, Question(pool_id, **asked), query)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    click.echo(
        f"{pool_id}: {found['requests']} requests, {found['requests_per_second']} a second, {found['replicas']} replicas, "
        f"{found['busy']} busy, {found['billing_currency']}"
    )
    now, then = found["as_it_is"], found["as_asked"]
    click.echo(f"{'':<18}{'as it is':>16}{'as asked':>16}")
    for name in _LINES:
        cells = ("-" if one[name] is None else str(one[name]) for one in (now, then))
        click.echo(f"{name:<18}" + "".join(f"{cell:>16}" for cell in cells))
    click.echo(f"{'change_pct':<18}{'':>16}{found['change_pct'] or '-':>16}")
    for note in dict.fromkeys((*now["notes"], *then["notes"])):
        click.echo(f"note: {note}")
