"""Which price book do a case's own prices make?

- without `models` the prices are those of the case's model; a model listed with an empty entry has a name and no price
- `versions` are dated lists, each in force until the next one starts
- `tiers` and `service_tiers` are rows of their own: what such a row does not state has no price there. Prices per thousand units
  hold in every row of the list they stand in
- `routes` are rows by region: that of an inference profile, which a model's name begins with, or the one an event was served in;
  `in_region` is what the model costs wherever no other row is for
- the only fallbacks are those that the case states and the data set's own: without a price for cache reads they cost the uncached input

Prices go into the real rows: what the real scale or the real row refuses, fails here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from accounting.money import parse_unit_price
from accounting.pricing.book import PriceBook
from accounting.pricing.data_files import region_prefixes, seller_names
from accounting.pricing.tariff import DEFAULT_TIER, Alias, Tariff
from accounting.usage.classes import PRICED_CLASSES
from tests.cases.rows import Case

Prices = Mapping[str, Any]

IN_REGION = "in_region"


def price_book(case: Case) -> PriceBook:
    """The book of one case."""
    seller = seller_of(case)
    listed = _models(case)
    tariffs = [row for name, prices in listed.items() for row in _rows(seller, name, prices)]
    return PriceBook(tariffs, [Alias(seller, name.lower(), name, case["id"]) for name in listed])


def seller_of(case: Case) -> str:
    """The seller that the case's provider means by our own table of names."""
    provider = str(case["provider"])
    return seller_names().get(provider, provider)


def _models(case: Case) -> dict[str, Prices]:
    prices, model = case["prices"], case["model"]
    if "models" in prices:
        return dict(prices["models"])
    start, _, rest = model.partition(".")
    base = rest if (seller_of(case), start) in region_prefixes() else model
    return {base: prices} if prices else {}


def _rows(seller: str, model: str, prices: Prices) -> Iterator[Tariff]:
    if not prices:
        return
    if "routes" in prices:
        for route, routed in prices["routes"].items():
            region = None if route == IN_REGION else route
            yield from (replace(row, region=region) for row in _rows(seller, model, routed))
        return
    versions = sorted(prices.get("versions", [prices]), key=lambda version: version.get("effective_from", ""))
    starts = [_instant(version.get("effective_from")) for version in versions]
    for version, start, end in zip(versions, starts, [*starts[1:], None], strict=True):
        tiers = {DEFAULT_TIER: version, **version.get("service_tiers", {})}
        for name, stated in tiers.items():
            for condition in ({}, *stated.get("tiers", ())):
                yield _row(seller, model, name, stated, condition, start, end)


def _row(
    seller: str, model: str, tier: str, stated: Prices, above: Prices, start: datetime | None, end: datetime | None
) -> Tariff:
    texts = {name: text for name, text in (above or stated).items() if name in PRICED_CLASSES}
    per_thousand = dict(stated.get("per_1000", {}))
    prices = {name: parse_unit_price(text, name) for name, text in texts.items()}
    prices |= {name: parse_unit_price(text, name) * 1_000 for name, text in per_thousand.items()}
    fallbacks = dict(stated.get("fallback", {}))
    if "cache_read" not in prices:
        fallbacks["cache_read"] = "uncached_input"
    return Tariff(
        seller=seller,
        model=model,
        prices=prices,
        fallbacks=fallbacks,
        service_tier=tier,
        above_input_tokens=above.get("above_input_tokens", 0),
        operator=above.get("operator", ">"),
        effective_from=start,
        effective_until=end,
        price_texts=texts | per_thousand,
        source="case",
        source_version="1",
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
