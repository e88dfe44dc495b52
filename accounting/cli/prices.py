"""What can be done with prices? One small file a family of commands, imported when it is called."""

from __future__ import annotations

import click

from accounting.cli.group import LazyGroup, example

COMMANDS = {
    "add": "accounting.cli.prices_change:add",
    "approve": "accounting.cli.prices_decide:approve",
    "assign": "accounting.cli.prices_assign:assign",
    "contract": "accounting.cli.prices_contract:contract",
    "diff": "accounting.cli.prices_import:diff",
    "disagreements": "accounting.cli.prices_decide:disagreements",
    "explain": "accounting.cli.explain:explain",
    "history": "accounting.cli.prices_list:history",
    "hook": "accounting.cli.prices_unpriced:hook",
    "impact": "accounting.cli.prices_impact:impact",
    "import": "accounting.cli.prices_import:import_",
    "imports": "accounting.cli.prices_import:imports",
    "list": "accounting.cli.prices_list:list_",
    "refuse": "accounting.cli.prices_decide:refuse",
    "template": "accounting.cli.prices_import:template_",
    "unpriced": "accounting.cli.prices_unpriced:unpriced",
    "withdraw": "accounting.cli.prices_change:withdraw",
}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    join="tokencogs.prices",
    epilog=example(
        "tokencogs prices import litellm model_prices.json --as-of 2026-11-28",
        "tokencogs prices history gpt-4o --on 2026-05-01",
    ),
)
def prices() -> None:
    """The price book: sources, decisions, contracts, and models without a price.

    Prices of all tenants are the operator's: changing them needs the owner's login. With --for-tenant a change is that tenant's own.
    """
