"""How is a pool stated and shown?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor, dump
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.moments import instant, moment
from accounting.selfhosted import pool_settings
from accounting.selfhosted.curve import Outside
from accounting.selfhosted.pool_settings import PoolSettings
from accounting.storage import pools
from accounting.storage.engine import app_engine
from accounting.storage.tenants import context

FROM_HELP = "From when on: a day (its first instant in UTC), or a moment such as 2026-09-10T12:30:00Z."


F = TypeVar("F", bound=Callable[..., Any])


def _choice(name: str, kinds: Any, default: str, help_text: str) -> Callable[[F], F]:
    return click.option(
        f"--{name}", type=click.Choice(get_args(kinds)), default=default, show_default=True, help=help_text
    )


@click.command(
    epilog=example(
        "tokencogs pools add chat --model Qwen3-8B --curve qwen3-8b-h200 --gpu H200 --gpus 1 --token-budget 8192 "
        "--max-batch 256 --kv-capacity 400000 --ttft-ms 2000 --itl-ms 50 --from 2026-09-01",
    )
)
@click.argument("pool_id")
@click.option("--model", required=True, help="What it serves.")
@click.option("--curve", "curve_id", required=True, help="The measured curve its requests are charged by.")
@click.option("--gpu", required=True, help="The GPUs' name.")
@click.option("--gpus", "gpus_per_replica", type=int, required=True, help="GPUs of one replica.")
@click.option("--token-budget", type=int, required=True, help="Tokens a step may compute (max_num_batched_tokens).")
@click.option("--max-batch", type=int, required=True, help="Requests a step may hold (max_num_seqs).")
@click.option("--kv-capacity", "kv_capacity_tokens", type=int, help="Tokens the KV cache holds; default: not stated.")
@click.option("--from", "since", required=True, help=FROM_HELP)
@click.option("--until", help="Its end; default: the next statement's beginning.")
@_choice("role", pool_settings.Role, "mixed", "Which phases run here.")
@_choice("scheduler-order", pool_settings.Order, "decode_first", "Prompts share steps, or go first and alone.")
@_choice("admission", pool_settings.Admission, "prompt", "What the cache must have room for.")
@click.option("--ttft-ms", "ttft_target_ms", type=float, help="Promised time to first token.")
@click.option("--itl-ms", "itl_target_ms", type=float, help="Promised time between tokens.")
@_choice("policy", pool_settings.Policy, "switch", "How the shared part of a step is split.")
@_choice("outside-range", Outside, "flag", "Requests beyond what the curve was measured on.")
@_choice(
    "prefix-policy",
    pool_settings.PrefixPolicy,
    "first_pays",
    "Who pays a shared prefix; amortised where a step ledger names its blocks.",
)
@click.option("--currency", "billing_currency", help="Of its bills; default: the tenant's.")
@tenant_option
def add(
    pool_id: str, since: str, until: str | None, billing_currency: str | None, tenant: str | None, **stated: Any
) -> None:
    """State the settings of POOL_ID from a date on; events name it as `deployment` (or `prefill_deployment`)."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    begins = instant("--from", since)
    pool = PoolSettings(
        pool_id=pool_id,
        effective_from=begins,
        effective_until=moment("--until", until),
        billing_currency=billing_currency or settings.billing_currency,
        **stated,
    )
    new = pools.record_pool(engine, settings, pool, actor())
    click.echo(f"pool {pool_id} {'stated' if new else 'is stated so already'} from {begins.isoformat()}")


@click.command(name="list", epilog=example("tokencogs pools list --tenant demo"))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def list_(as_json: bool, tenant: str | None) -> None:
    """Print pools with their newest settings and how many replicas are stated."""
    engine = app_engine()
    found = pools.listed(engine, context(engine, chosen(tenant)))
    if as_json:
        dump(found)
        return
    for one in found:
        newest = one["settings"][-1]
        click.echo(
            f"{one['pool_id']}\t{newest['role']}\t{newest['model']}\t{newest['gpus_per_replica']} x {newest['gpu']}\t"
            f"curve {newest['curve_id']}\t{newest['policy']}\tfrom {newest['effective_from']}\t"
            f"{len({row['replica'] for row in one['replicas']})} replicas"
        )


@click.command(epilog=example("tokencogs pools show chat", "tokencogs pools show chat --known-at 2026-09-15"))
@click.argument("pool_id")
@click.option("--known-at", help="As it was believed at a moment; default: now.")
@tenant_option
def show(pool_id: str, known_at: str | None, tenant: str | None) -> None:
    """Print POOL_ID as JSON: dated settings and replicas."""
    engine = app_engine()
    dump(pools.listed(engine, context(engine, chosen(tenant)), pool_id, moment("--known-at", known_at))[0])


@click.command(epilog=example("tokencogs pools withdraw chat --from 2026-09-01"))
@click.argument("pool_id")
@click.option("--from", "since", required=True, help="Which statement, by its beginning.")
@tenant_option
def withdraw(pool_id: str, since: str, tenant: str | None) -> None:
    """Take the settings of POOL_ID of a date back as never right."""
    engine = app_engine()
    begins = instant("--from", since)
    pools.withdraw_pool(engine, context(engine, chosen(tenant)), pool_id, begins, actor())
    click.echo(f"pool {pool_id}: the settings from {begins.isoformat()} on are withdrawn")
