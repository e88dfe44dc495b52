"""Which sets of price rows compete for one kind of request, and which kinds are there?

A kind of request is a seller, a model, a tier, a surface and a region. Its rows come in layers, each silent where one before it has a
row in force: rows that the tenant's contract states, rows that a contract's rules made of list rows, list rows; within each the rows
for surface and region, for the surface, for the region, for all. Where the tenant's names and the list's mean two models, the
tenant's comes first, so that a contract that is not in force yet leaves the list price in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from accounting.pricing import reasons
from accounting.pricing.tariff import Tariff

Where = tuple[str | None, str | None]
"""Surface and region that rows are for, lower case; None: all that have no rows of their own."""

Models = tuple[str, str | None, str | None]
"""Seller, model by the tenant's names, model by the list's names."""

_LAYERS = 3


@dataclass(frozen=True)
class Kinds:
    """The kinds of request of some models at one tier.

    Attributes:
        surfaces, regions: those that have rows of their own; every other one counts as None.
        layers: surface and region -> layers of places of rows in the book; without a layer: no row is for such a request.
    """

    surfaces: frozenset[str]
    regions: frozenset[str]
    layers: Mapping[Where, tuple[tuple[int, ...], ...]]

    def where(self, surface: str | None, region: str | None) -> Where:
        """The kind of a request's surface and region."""
        sent = (surface or "").lower(), (region or "").lower()
        return sent[0] if sent[0] in self.surfaces else None, sent[1] if sent[1] in self.regions else None

    def reason(self, where: Where) -> int:
        """Why a kind without layers has no price."""
        elsewhere = any(layers and surface == where[0] for (surface, _), layers in self.layers.items())
        return reasons.NO_PRICE_FOR_REGION if elsewhere else reasons.NO_PRICE_FOR_SURFACE


def kinds_of(rows: Sequence[Tariff], pairs: Iterable[Models]) -> dict[tuple[Models, str], Kinds]:
    """All kinds of request that the rows price, by the models that a name may mean and the tier."""
    sets: dict[tuple[str, str], dict[str, dict[tuple[int, Where], list[int]]]] = {}
    for number, row in enumerate(rows):
        of_tier = sets.setdefault((row.seller, row.model), {}).setdefault(row.service_tier, {})
        where = (row.surface and row.surface.lower(), row.region and row.region.lower())
        of_tier.setdefault((_layer(row), where), []).append(number)
    found: dict[tuple[Models, str], Kinds] = {}
    for seller, own, listed in sorted(pairs, key=str):
        models = [sets.get((seller, model), {}) for model in dict.fromkeys((own, listed)) if model is not None]
        for tier in sorted({tier for model in models for tier in model}):
            found[(seller, own, listed), tier] = _kinds([model[tier] for model in models if tier in model])
    return found


def _kinds(models: Sequence[Mapping[tuple[int, Where], Sequence[int]]]) -> Kinds:
    stated = [where for model in models for _, where in model]
    surfaces = frozenset(surface for surface, _ in stated if surface is not None)
    regions = frozenset(region for _, region in stated if region is not None)
    layers: dict[Where, tuple[tuple[int, ...], ...]] = {}
    for surface in (None, *sorted(surfaces)):
        for region in (None, *sorted(regions)):
            closest = dict.fromkeys(((surface, region), (surface, None), (None, region), (None, None)))
            places = [(model, (layer, where)) for model in models for layer in range(_LAYERS) for where in closest]
            layers[surface, region] = tuple(tuple(model[place]) for model, place in places if place in model)
    return Kinds(surfaces, regions, layers)


def _layer(row: Tariff) -> int:
    if row.tenant is None:
        return 2
    return 0 if row.derived_from is None else 1
