"""What should a person look at, and what becomes of it?"""

from __future__ import annotations

import click
import msgspec

from accounting.cli.group import example
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.ledger.exceptions import KINDS, dismiss, listed
from accounting.ledger.replay import replay as again
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs exceptions list --tenant demo", "tokencogs exceptions replay --tenant demo"))
def exceptions() -> None:
    """Bodies that contradict themselves, events in conflict, and findings on booked calls."""


@exceptions.command(
    name="list",
    epilog=example(
        "tokencogs exceptions list --kind contradiction", "tokencogs exceptions list --all --json | jq .counts"
    ),
)
@click.option("--kind", type=click.Choice(KINDS), help="Only these.")
@click.option("--reason", help="Only those of this reason code.")
@click.option("--all", "every", is_flag=True, help="Resolved ones too.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1_000, show_default=True, help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="With the usage part of each body, as JSON.")
@tenant_option
def list_(kind: str | None, reason: str | None, every: bool, limit: int, as_json: bool, tenant: str | None) -> None:
    """Print what is open, oldest first, and how many there are by kind and reason."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    found = listed(engine, settings, kind=kind, reason=reason, open_only=not every, limit=limit)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    for row in found["exceptions"]:
        click.echo(
            "\t".join(row[name] or "open" for name in ("exception_id", "kind", "resolution", "event_id")), nl=False
        )
        click.echo(f"\t{row['format']}\t{row['reason']}\t{row['detail']}")
    for row in found["counts"]:
        click.echo(f"{row['kind']} {row['reason']}: {row['open']} open of {row['exceptions']}")


@exceptions.command(
    epilog=example("tokencogs exceptions replay", "tokencogs exceptions replay 5f0c1b6a9d3e4f7788990011")
)
@click.argument("ids", nargs=-1)
@tenant_option
def replay(ids: tuple[str, ...], tenant: str | None) -> None:
    """Read the kept evidence of contradictions again, all or those of IDS, and book what a mended rule reads; each once."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    answer = again(engine, settings, load_layers(engine, settings.tenant), list(ids) or None)
    click.echo(f"replayed {answer['replayed']}, booked {answer['booked']}, still open {len(answer['still_open'])}")
    for row in answer["still_open"]:
        click.echo(f"{row['exception_id']}\t{row['event_id']}\t{row['reason']}")


@exceptions.command(name="dismiss", epilog=example("tokencogs exceptions dismiss 5f0c1b6a9d3e4f7788990011"))
@click.argument("ids", nargs=-1, required=True)
@tenant_option
def dismiss_(ids: tuple[str, ...], tenant: str | None) -> None:
    """Mark the exceptions of IDS as looked at; nothing is booked."""
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    for exception_id in ids:
        click.echo(f"{exception_id}\t{dismiss(engine, settings, exception_id)['resolution']}")
