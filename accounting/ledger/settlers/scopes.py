"""Which usage does a contract's scope cover? Its names are read as those of its price rules are, and compared with what was called.

A scope may name a model by any exact name of it; surfaces and regions are those of the calls: a price row that holds everywhere says
nothing about where a call ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from accounting.pricing.contract import Contract, Scope
from accounting.pricing.data_files import region_names, region_prefixes
from accounting.pricing.layering import rank
from accounting.pricing.names import Names
from accounting.pricing.rules import lowered
from accounting.storage.price_records import spoken

PARTS = ("volume_tiers", "commitments", "credits")


def list_names(connection: Connection, sellers: Iterable[str]) -> Names:
    """The price list's names of some sellers' models, those of the source that is asked first where several have one."""
    wanted = set(sellers)
    if not wanted:
        return Names((), {}, {})
    held = [one for one in spoken(connection) if one.alias.tenant is None and one.alias.seller in wanted]
    first = {}
    for one in sorted(held, key=lambda one: rank(one.list_source), reverse=True):
        first[one.alias.seller, one.alias.alias.lower()] = one.alias
    return Names(first.values(), {}, {}, region_names(), region_prefixes())


def as_listed(contract: Contract, names: Names) -> Contract:
    """The contract with the scopes of its parts in the price list's names."""
    parts: dict[str, Any] = {
        name: tuple(replace(part, scope=_scope(contract.seller, part.scope, names)) for part in getattr(contract, name))
        for name in PARTS
    }
    return replace(contract, **parts)


def scopes_of(contract: Contract) -> Iterator[Scope]:
    """The scopes of its parts."""
    for name in PARTS:
        for part in getattr(contract, name):
            yield part.scope


def _scope(seller: str, scope: Scope, names: Names) -> Scope:
    models, surfaces, regions = scope.models, scope.surfaces, scope.regions
    if models is not None:
        listed = {names.model(seller, model) or model for model in models}
        models = models | listed | lowered(models)
    return replace(
        scope,
        models=models,
        surfaces=None if surfaces is None else lowered(surfaces),
        regions=None
        if regions is None
        else frozenset(names.region(seller, None, region) or region for region in regions),
    )
