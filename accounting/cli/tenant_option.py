"""Which tenant is meant when a command is called without --tenant?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from accounting.errors import ConfigurationError, InvalidInput
from accounting.storage.engine import has_owner, owner_engine
from accounting.storage.tenants import list_tenants

F = TypeVar("F", bound=Callable[..., Any])


def tenant_option(command: F) -> F:
    """Adds --tenant; pass its value through `chosen`."""
    option = click.option(
        "--tenant",
        envvar="TOKENCOGS_TENANT",
        show_envvar=True,
        help="Whose data; default: the only tenant when there is one.",
    )
    return option(command)


def chosen(tenant: str | None) -> str:
    """The tenant asked for, else the only one there is. Raises InvalidInput that says what to add."""
    if tenant:
        return tenant
    if not has_owner():
        raise ConfigurationError("--tenant is needed: without TOKENCOGS_OWNER_URL the tenants can't be listed")
    known = [row.tenant for row in list_tenants(owner_engine())]
    if not known:
        raise InvalidInput("--tenant", None, "there is no tenant yet; make one with `tokencogs tenant create NAME`")
    if len(known) > 1:
        raise InvalidInput("--tenant", None, f"say which of {', '.join(known)}")
    return known[0]
