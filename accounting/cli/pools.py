"""What can be done with pools of one's own GPUs? One small file a family of commands, imported when it is called."""

from __future__ import annotations

import click

from accounting.cli.group import LazyGroup, example

COMMANDS = {
    "add": "accounting.cli.pools_settings:add",
    "bill": "accounting.cli.pools_bill:bill",
    "bills": "accounting.cli.pools_bill:bills",
    "import-bills": "accounting.cli.pools_import_bills:import_bills_",
    "list": "accounting.cli.pools_settings:list_",
    "rates": "accounting.cli.pools_rates:rates",
    "replica": "accounting.cli.pools_replica:replica",
    "show": "accounting.cli.pools_settings:show",
    "steps": "accounting.cli.pools_steps:steps",
    "unused": "accounting.cli.pools_bill:unused",
    "what-if": "accounting.cli.pools_what_if:what_if",
    "withdraw": "accounting.cli.pools_settings:withdraw",
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    join="tokencogs.pools",
    epilog=example(
        "tokencogs pools rates add h100 --kind on_demand --gpu H100 --price-per-hour 3 --from 2026-09-01",
        "tokencogs pools bill --from 2026-09-01 --to 2026-10-01",
    ),
)
def pools() -> None:
    """Self-hosted serving: pools of replicas, what their GPU-hours cost, and their bills."""
