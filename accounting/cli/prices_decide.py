"""What does a person decide where sources disagree?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor, dump, for_tenant_option, show, show_proposals, writer
from accounting.cli.tenant_option import tenant_option
from accounting.storage.engine import NO_TENANT, app_engine
from accounting.storage.price_decisions import decide, proposals
from accounting.storage.price_decisions import disagreements as found

F = TypeVar("F", bound=Callable[..., Any])


def _which(command: F) -> F:
    """Adds IDS, --source, --seller, --model, --yes and --for-tenant."""
    of = "Without IDS: every row that is proposed {}."
    for option in (
        click.option("--yes", is_flag=True, help="Without IDS: don't ask."),
        for_tenant_option,
        click.option("--model", help=of.format("for this model")),
        click.option("--seller", help=of.format("for this seller")),
        click.option("--source", help=of.format("by this source")),
        click.argument("ids", nargs=-1),
    ):
        command = option(command)
    return command


@click.command(
    epilog=example(
        "tokencogs prices approve 1f0c6b5de0a1b2c3", "tokencogs prices approve --source litellm --seller openai"
    )
)
@_which
def approve(ids: tuple[str, ...], for_tenant: str | None, yes: bool, **about: str | None) -> None:
    """Put the proposed rows of IDS in force, in place of what they contradict; all of them or none.

    A row stands in place of a whole row: a class that it does not state takes another's price then or has none, which is shown.
    Without IDS the rows are shown with what other sources state, and their number is confirmed.

    Events booked before stay as they are: `tokencogs reprice` shows what would change.
    """
    _decide("approve", ids, for_tenant, yes, about)


@click.command(epilog=example("tokencogs prices refuse 1f0c6b5de0a1b2c3"))
@_which
def refuse(ids: tuple[str, ...], for_tenant: str | None, yes: bool, **about: str | None) -> None:
    """Leave the proposed rows of IDS out for good; what was in force stays.

    Without IDS the rows are shown with what other sources state, and their number is confirmed.
    """
    _decide("refuse", ids, for_tenant, yes, about)


def _decide(
    decision: str, ids: tuple[str, ...], for_tenant: str | None, yes: bool, about: dict[str, str | None]
) -> None:
    engine, named = writer(for_tenant), any(about.values())
    if ids or not named:
        show(decide(engine, decision, actor(), ids, tenant=for_tenant, **about), as_json=False)
        return
    own = for_tenant is not None
    source, seller, model = (about[name] for name in ("source", "seller", "model"))
    every = proposals(engine, for_tenant or NO_TENANT, source=source, seller=seller, model=model)
    waiting = [row for row in every if row["own"] == own]
    show_proposals(waiting, err=True)
    if not waiting:
        click.echo("0 rows are proposed", err=True)
        return
    if not yes:
        click.confirm(f"{decision} these {len(waiting)} rows?", abort=True, err=True)
    # By the ids that were shown: what was proposed meanwhile waits.
    shown = [row["sku_price_id"] for row in waiting]
    show(decide(engine, decision, actor(), shown, tenant=for_tenant), as_json=False)


@click.command(epilog=example("tokencogs prices disagreements --model gpt-4o"))
@click.option("--model", help="Only of this one, by the name that one of the sources uses.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True, help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def disagreements(model: str | None, limit: int, as_json: bool, tenant: str | None) -> None:
    """Print where imported sources state other prices than those before, the newest first."""
    rows = found(app_engine(), tenant or "", model=model, limit=limit)
    if as_json:
        dump(rows)
        return
    for row in rows:
        above = f" above {row['above_input_tokens']}" if row["above_input_tokens"] else ""
        dates = f"[{row['holds_from'] or 'ever'}, {row['holds_until'] or 'open'})"
        click.echo(
            f"{row['sku_price_id']}\t{row['seller']}/{row['model']} {row['service_tier']}{above}\t{row['token_class']}\t"
            f"{row['list_source']} {row['unit_price']}\t{row['other_source']} {row['other_unit_price']}\t{dates}"
        )
