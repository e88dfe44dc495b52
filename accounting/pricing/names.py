"""Which seller, model and service tier does a logged name mean? Exact names only, each looked up once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from accounting.errors import PriceBookError
from accounting.pricing.tariff import DEFAULT_TIER, Alias

BATCH_TIER = "batch"

_DATED = re.compile(r"(?P<name>.+)(?P<mark>[-@])(?P<year>20\d\d)(?P<dash>-?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)")


class Names:
    """Names of sellers, models and tiers as logs write them, in any case.

    Args:
        aliases: exact names of models.
        sellers: further names of sellers; a seller's own name always means itself.
        tiers: service tiers as served -> tiers of the price list. A tier that stands nowhere keeps its name and finds no price.
    """

    def __init__(self, aliases: Iterable[Alias], sellers: Mapping[str, str], tiers: Mapping[str, str]) -> None:
        self._models: dict[tuple[str, str], str] = {}
        for alias in aliases:
            if alias.tenant is not None:
                raise PriceBookError(f"alias {alias.alias!r} of tenant {alias.tenant!r} in a list price book")
            known = self._models.setdefault((alias.seller, alias.alias.lower()), alias.model)
            if known != alias.model:
                raise PriceBookError(f"{alias.seller}: {alias.alias!r} means both {known!r} and {alias.model!r}")
        self._sellers = {seller: seller for seller, _ in self._models} | {
            name: seller for name, seller in sellers.items() if name not in {one for one, _ in self._models}
        }
        self._tiers = tiers

    def seller(self, provider: str | None) -> str | None:
        """The seller that a provider's name means; None: no such seller."""
        return self._sellers.get(provider.lower()) if provider else None

    def model(self, seller: str, name: str | None) -> str | None:
        """The seller's model that a name means; None: no such model."""
        if not name:
            return None
        found = (self._models.get((seller, candidate)) for candidate in _candidates(name.lower()))
        return next((one for one in found if one is not None), None)

    def tier(self, service_tier: str | None, batch: bool) -> str:
        """Tier of the price list. A batch job at a tier other than the default is a contradiction with no price: `batch+flex`."""
        sent = (service_tier or "").lower()
        tier = self._tiers.get(sent, sent) or DEFAULT_TIER
        if not batch or tier == BATCH_TIER:
            return tier
        return BATCH_TIER if tier == DEFAULT_TIER else f"{BATCH_TIER}+{tier}"


def _candidates(name: str) -> Iterator[str]:
    """The name, then with its date written with dashes, then without its date, where what ends it is a date of the calendar."""
    yield name
    dated = _DATED.fullmatch(name)
    if dated is None:
        return
    try:
        day = date(int(dated["year"]), int(dated["month"]), int(dated["day"]))
    except ValueError:
        return
    yield f"{dated['name']}-{day.isoformat()}"
    yield dated["name"]
