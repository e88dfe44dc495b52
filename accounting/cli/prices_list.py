"""Which prices are in force, and what was ever said of a model?"""

from __future__ import annotations

import click

from accounting.cli.group import example
from accounting.cli.prices_options import show, show_proposals
from accounting.cli.tenant_option import tenant_option
from accounting.moments import moment
from accounting.storage.engine import app_engine
from accounting.storage.price_decisions import proposals
from accounting.storage.price_views import history as said
from accounting.storage.price_views import prices


@click.command(
    name="list",
    epilog=example(
        "tokencogs prices list --seller openai --on 2026-07-30", "tokencogs prices list --proposed --seller openai"
    ),
)
@click.option("--seller", help="Only of this one.")
@click.option("--model", help="Only this one, by any of its exact names.")
@click.option("--on", metavar="MOMENT", help="Only rows in force then. Default: of all dates.")
@click.option("--known-at", metavar="MOMENT", help="As known then. Default: now.")
@click.option("--proposed", is_flag=True, help="Instead: rows that wait for a decision, with what others state.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def list_(
    seller: str | None,
    model: str | None,
    on: str | None,
    known_at: str | None,
    proposed: bool,
    as_json: bool,
    tenant: str | None,
) -> None:
    """Print price rows: id, state, source, whose and when, dates, prices per million tokens (per thousand counted things).

    With --tenant: what it pays by, its own rows and those its contracts make of the list among them.
    """
    engine = app_engine()
    if not proposed:
        rows = prices(
            engine, tenant or "", seller=seller, model=model, on=moment("on", on), known_at=moment("known-at", known_at)
        )
        show(rows, as_json)
        return
    waiting = proposals(engine, tenant or "", seller=seller, model=model)
    if as_json:
        show(waiting, as_json)
        return
    show_proposals(waiting)
    click.echo(
        f"{len(waiting)} proposed; tokencogs prices approve or refuse, by ID or --source, --seller, --model", err=True
    )


@click.command(epilog=example("tokencogs prices history gpt-4o", "tokencogs prices history o3 --on 2025-05-01 --json"))
@click.argument("model")
@click.option("--seller", help="Only of this one.")
@click.option("--on", metavar="MOMENT", help="Only rows that hold then.")
@click.option("--known-at", metavar="MOMENT", help="As known then. Default: now.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@tenant_option
def history(
    model: str, seller: str | None, on: str | None, known_at: str | None, as_json: bool, tenant: str | None
) -> None:
    """Print what every source says of MODEL over time, by any of its exact names; `*` marks rows that the book holds."""
    rows = said(
        app_engine(), tenant or "", model, seller=seller, on=moment("on", on), known_at=moment("known-at", known_at)
    )
    if as_json:
        show(rows, as_json)
        return
    for row in rows:
        click.echo("* " if row["in_force"] else "  ", nl=False)
        show([row], as_json)
