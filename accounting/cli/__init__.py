"""What does the command `tokencogs` offer? One small file a family of commands, imported when it is called."""

from __future__ import annotations

import click

from accounting.cli.group import ENTRY_POINTS, LazyGroup, example

COMMANDS = {
    "audit": "accounting.cli.audit:audit",
    "check": "accounting.cli.check:check",
    "close": "accounting.cli.close:close",
    "cost-basis": "accounting.cli.cost_basis:cost_basis",
    "db": "accounting.cli.db:db",
    "demo": "accounting.cli.demo:demo",
    "explain": "accounting.cli.explain:explain",
    "exceptions": "accounting.cli.exceptions:exceptions",
    "fx": "accounting.cli.fx:fx",
    "ingest": "accounting.cli.ingest:ingest",
    "key": "accounting.cli.key:key",
    "login": "accounting.cli.login:login",
    "plan": "accounting.cli.plan:plan",
    "policy": "accounting.cli.policy:policy",
    "pools": "accounting.cli.pools:pools",
    "price": "accounting.cli.price:price",
    "prices": "accounting.cli.prices:prices",
    "reconcile": "accounting.cli.reconcile:reconcile",
    "renormalise": "accounting.cli.renormalise:renormalise",
    "reprice": "accounting.cli.reprice:reprice",
    "report": "accounting.cli.report:report",
    "retention": "accounting.cli.retention:retention",
    "revenue": "accounting.cli.revenue:revenue",
    "settle": "accounting.cli.settle:settle",
    "subscription": "accounting.cli.subscription:subscription",
    "tenant": "accounting.cli.tenant:tenant",
    "trace": "accounting.cli.trace:trace",
    "up": "accounting.cli.up:up",
    "user": "accounting.cli.user:user",
    "worker": "accounting.cli.worker:worker",
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    join=ENTRY_POINTS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example(
        "tokencogs price events.jsonl > charges.jsonl",
        "tokencogs report cost-of-revenue --from 2026-10-01 --to 2026-11-01",
    ),
)
@click.version_option(package_name="tokencogs")
def main() -> None:
    """Cost accounting for products made of LLM calls.

    Without DATABASE_URL an embedded PostgreSQL runs for as long as some command uses it; its data stay in the user's data
    folder (TOKENCOGS_DATA). With DATABASE_URL, that server is used, and TOKENCOGS_OWNER_URL for acts of the owner.
    """


__all__ = ["COMMANDS", "main"]
