"""Whose prices are meant, who changes them, and how are rows shown?"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import msgspec
from sqlalchemy import Engine

from accounting.storage.engine import app_engine, owner_engine
from accounting.storage.price_show import line
from accounting.storage.tenants import get_tenant

F = TypeVar("F", bound=Callable[..., Any])


def for_tenant_option(command: F) -> F:
    """Adds --for-tenant; pass its value through `writer`."""
    option = click.option(
        "--for-tenant",
        metavar="TENANT",
        help="Rows of this tenant alone. Default: the list of all, by the owner's login.",
    )
    return option(command)


def writer(tenant: str | None) -> Engine:
    """The login that may change these prices. Raises NotFound for a tenant that does not exist."""
    if tenant is None:
        return owner_engine()
    get_tenant(app_engine(), tenant)
    return app_engine()


def actor() -> str:
    """Who stands in the log: TOKENCOGS_ACTOR, else the user of the operating system."""
    return f"cli:{os.environ.get('TOKENCOGS_ACTOR') or getpass.getuser()}"


def show(rows: Iterable[dict[str, Any]], as_json: bool) -> None:
    """Price rows, one a line, or as JSON."""
    if as_json:
        dump(list(rows))
        return
    for row in rows:
        click.echo(line(row))


def show_proposals(rows: Iterable[dict[str, Any]], err: bool = False) -> None:
    """Rows that wait for a decision, each with what other sources state otherwise; `err`: beside the answer."""
    for row in rows:
        click.echo(line(row), err=err)
        for other in row["disagreements"]:
            click.echo(
                f"  {other['token_class']} {other['unit_price']}; {other['other_source']} has {other['other_unit_price']} for "
                f"{other['other_model']} ({other['other_sku_price_id']})",
                err=err,
            )
        for lost in row["loses"]:
            then = f"at the price of {lost['priced_as']}" if lost["priced_as"] else "without a price"
            click.echo(f"  once approved: {lost['token_class']} {then}", err=err)


def dump(found: Any) -> None:
    """JSON for another program."""
    click.echo(msgspec.json.format(msgspec.json.encode(found)))
