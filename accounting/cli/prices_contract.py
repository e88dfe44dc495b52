"""How are contracts recorded and shown?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from accounting.cli.group import example
from accounting.cli.prices_options import actor, dump
from accounting.cli.tenant_option import chosen, tenant_option
from accounting.errors import InvalidInput
from accounting.pricing.contract_json import contract_from_json, contract_to_json
from accounting.pricing.contracted import unmet_rules
from accounting.pricing.sources.exact_yaml import load
from accounting.storage import contracts
from accounting.storage.engine import app_engine
from accounting.storage.tariffs import load_layers, read_tariffs
from accounting.storage.tenants import context


@click.group(epilog=example("tokencogs prices contract add signed.yaml --tenant acme"))
def contract() -> None:
    """What a tenant has signed with sellers: rules, volume tiers, commitments, credits."""


@contract.command(epilog=example("tokencogs prices contract add signed.yaml --tenant acme"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@tenant_option
def add(file: Path, tenant: str | None) -> None:
    """Record the contract of FILE (YAML or JSON), or a new version of it by its contract_id.

    It holds for what is booked from now on; `tokencogs reprice` shows what it changes of what is booked.
    """
    engine = app_engine()
    settings = context(engine, chosen(tenant))
    signed = contract_from_json({"tenant": settings.tenant, **_object(file)})
    done = contracts.record(engine, settings, signed, actor())
    load_layers(engine, settings.tenant)
    click.echo(
        f"contract {signed.contract_id} {'recorded' if done['recorded'] else 'is recorded already; nothing changed'}"
    )
    for sentence in unmet_rules([signed], *read_tariffs(engine, settings.tenant)):
        click.echo(sentence, err=True)


@contract.command(name="list", epilog=example("tokencogs prices contract list --tenant acme"))
@tenant_option
def list_(tenant: str | None) -> None:
    """Print the contracts in force: id, seller, dates, how many statements of each kind."""
    engine = app_engine()
    for one in contracts.listed(engine, context(engine, chosen(tenant))):
        parts = ("rules", "volume_tiers", "commitments", "credits")
        counts = " ".join(f"{name}={len(getattr(one, name))}" for name in parts)
        dates = (
            f"[{one.effective_from.isoformat()}, {one.effective_until.isoformat() if one.effective_until else 'open'})"
        )
        click.echo(f"{one.contract_id}\t{one.seller}\t{dates}\t{counts}\t{one.created_by}")


@contract.command(epilog=example("tokencogs prices contract show openai-2026 --tenant acme"))
@click.argument("contract_id")
@tenant_option
def show(contract_id: str, tenant: str | None) -> None:
    """Print the contract CONTRACT_ID as JSON."""
    engine = app_engine()
    dump(contract_to_json(contracts.shown(engine, context(engine, chosen(tenant)), contract_id)))


@contract.command(epilog=example("tokencogs prices contract withdraw openai-2026 --tenant acme"))
@click.argument("contract_id")
@tenant_option
def withdraw(contract_id: str, tenant: str | None) -> None:
    """Take the contract CONTRACT_ID back. What was booked by it stays until it is re-priced."""
    engine = app_engine()
    contracts.withdraw(engine, context(engine, chosen(tenant)), contract_id, actor())
    click.echo(f"contract {contract_id} withdrawn")


def _object(file: Path) -> dict[str, Any]:
    found = load(file.read_bytes())
    if not isinstance(found, dict):
        raise InvalidInput("FILE", file.name, "one contract as an object is expected")
    return found
