"""Which seller, model, service tier and region does a logged name mean? Exact names only, each looked up once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple

from accounting.errors import PriceBookError
from accounting.pricing.tariff import DEFAULT_TIER, Alias

BATCH_TIER = "batch"

_DATED = re.compile(r"(?P<name>.+)(?P<mark>[-@])(?P<year>20\d\d)(?P<dash>-?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)")

How = Literal["exact", "without date", "exact, without region", "without region and date"]


def as_priced(name: str, logged: Mapping[str, str]) -> str:
    """How price rows call a seller or a tier: in small letters, and by the name that another one of logs stands for."""
    own = name.lower()
    return own if own in logged.values() else logged.get(own, own)


class ModelName(NamedTuple):
    """What a logged name means in one layer of names: the model, how it was found and under which exact name."""

    model: str
    how: How
    alias: str


class Names:
    """Names of sellers, models, tiers and regions as logs write them, in any case.

    Args:
        aliases: exact names of models; those of the tenant are a layer of their own over the list's.
        sellers: further names of sellers; a seller's own name always means itself.
        tiers: service tiers as served -> tiers of the price list. A tier that stands nowhere keeps its name and finds no price.
        regions: (seller, region as logged) -> region of the price list. One that stands nowhere keeps its name.
        prefixes: (seller, what stands before the first point of a name) -> region of the price list.
    """

    def __init__(
        self,
        aliases: Iterable[Alias],
        sellers: Mapping[str, str],
        tiers: Mapping[str, str],
        regions: Mapping[tuple[str, str], str] | None = None,
        prefixes: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self._own: dict[tuple[str, str], str] = {}
        self._list: dict[tuple[str, str], str] = {}
        for alias in aliases:
            models = self._list if alias.tenant is None else self._own
            known = models.setdefault((alias.seller, alias.alias.lower()), alias.model)
            if known != alias.model:
                raise PriceBookError(f"{alias.seller}: {alias.alias!r} means both {known!r} and {alias.model!r}")
        own_names = {seller for seller, _ in (*self._own, *self._list)}
        self._sellers = {seller: seller for seller in own_names} | {
            name: seller for name, seller in sellers.items() if name not in own_names
        }
        self._tiers, self._regions, self._prefixes = tiers, regions or {}, prefixes or {}

    def seller(self, provider: str | None) -> str | None:
        """The seller that a provider's name means; None: no such seller."""
        return self._sellers.get(provider.lower()) if provider else None

    def model(self, seller: str, name: str | None) -> str | None:
        """The seller's model that a name means, the tenant's names first; None: no such model."""
        found = next((one for one in self.models(seller, name) if one is not None), None)
        return None if found is None else found.model

    def models(self, seller: str, name: str | None) -> tuple[ModelName | None, ModelName | None]:
        """What a name means among the tenant's names, and among the list's."""
        if not name:
            return None, None
        return self._look_up(self._own, seller, name.lower()), self._look_up(self._list, seller, name.lower())

    def pairs(self) -> set[tuple[str, str | None, str | None]]:
        """Every (seller, model by the tenant's names, model by the list's names) that some logged name leads to."""
        found: set[tuple[str, str | None, str | None]] = set()
        for seller, name in (*self._own, *self._list):
            own, listed = self.models(seller, name)
            found.add((seller, own and own.model, listed and listed.model))
        return found

    def tier(self, service_tier: str | None, batch: bool) -> str:
        """Tier of the price list. A batch job at a tier other than the default is a contradiction with no price: `batch+flex`."""
        sent = (service_tier or "").lower()
        tier = self._tiers.get(sent, sent) or DEFAULT_TIER
        if not batch or tier == BATCH_TIER:
            return tier
        return BATCH_TIER if tier == DEFAULT_TIER else f"{BATCH_TIER}+{tier}"

    def region(self, seller: str, name: str | None, region: str | None) -> str | None:
        """Region that decides: what the model's name begins with, else the one logged; None: not known."""
        by_name = self._prefixes.get((seller, (name or "").lower().partition(".")[0]))
        if by_name is not None or not region:
            return by_name
        written = region.lower()
        return self._regions.get((seller, written), written)

    def written_regions(self) -> dict[str, set[str]]:
        """Region of the price list -> how else logs write it, with any seller."""
        found: dict[str, set[str]] = {}
        for (_, written), region in self._regions.items():
            found.setdefault(region, set()).add(written)
        return found

    def list_fingerprint(self) -> int:
        """Equal for the same exact names of the list."""
        return hash(frozenset(self._list.items()))

    def _look_up(self, models: Mapping[tuple[str, str], str], seller: str, name: str) -> ModelName | None:
        if not models:
            return None
        for how, candidate in self._candidates(seller, name):
            model = models.get((seller, candidate))
            if model is not None:
                return ModelName(model, how, candidate)
        return None

    def _candidates(self, seller: str, name: str) -> Iterator[tuple[How, str]]:
        """The name, then without its date, then the same without the beginning that says a region, where data says it does."""
        yield "exact", name
        for dateless in _without_date(name):
            yield "without date", dateless
        start, point, rest = name.partition(".")
        if point and (seller, start) in self._prefixes:
            yield "exact, without region", rest
            for dateless in _without_date(rest):
                yield "without region and date", dateless


def _without_date(name: str) -> Iterator[str]:
    """The name with its date written with dashes, then without its date, where what ends it is a date of the calendar."""
    dated = _DATED.fullmatch(name)
    if dated is None:
        return
    try:
        day = date(int(dated["year"]), int(dated["month"]), int(dated["day"]))
    except ValueError:
        return
    yield f"{dated['name']}-{day.isoformat()}"
    yield dated["name"]
