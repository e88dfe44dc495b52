"""What do our own small price tables say? Reviewed rows with a source each, read once from the files in data/."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files

from accounting.errors import PriceBookError
from accounting.pricing.tariff import Alias


@dataclass(frozen=True)
class OverlayPrice:
    """A price that the price list leaves out, used only where it states none.

    Attributes:
        model: a model's name, or `*` with an optional ending (`*:free`) for all models whose name ends so.
        price: decimal text, per million tokens or per thousand units.
    """

    seller: str
    model: str
    token_class: str
    price: str
    source: str
    checked_on: date

    def fits(self, seller: str, model: str) -> bool:
        if seller != self.seller:
            return False
        return model.endswith(self.model[1:]) if self.model.startswith("*") else model == self.model


@cache
def seller_names() -> dict[str, str]:
    """Name of a provider in logs, lower case -> seller of the price list. Sellers' own names are not repeated here."""
    return _mapping("sellers.csv", "alias", "seller")


@cache
def tier_names() -> dict[str, str]:
    """Service tier as served, lower case -> tier of the price list."""
    return _mapping("service_tiers.csv", "value", "service_tier")


@cache
def price_sources() -> tuple[str, ...]:
    """Names of the sources of list prices, the first of them ruling: the order in which they fill in."""
    return tuple(row["source"] for row in table("price_sources.csv"))


@cache
def region_names() -> dict[tuple[str, str], str]:
    """(seller, region as logged, lower case) -> region of the price list."""
    return _of_seller("regions.csv")


@cache
def region_prefixes() -> dict[tuple[str, str], str]:
    """(seller, what stands before the first point of a model's name) -> region of the price list."""
    return _of_seller("region_prefixes.csv")


def reviewed_aliases() -> list[Alias]:
    """Exact names that the price list knows only by a pattern, each looked up by hand."""
    return [
        Alias(row["seller"], row["alias"], row["model"], row["source"], date.fromisoformat(row["checked_on"]))
        for row in table("aliases.csv")
    ]


def overlay_prices() -> list[OverlayPrice]:
    return [
        OverlayPrice(
            **{name: text for name, text in row.items() if name != "checked_on"},
            checked_on=date.fromisoformat(row["checked_on"]),
        )
        for row in table("overlay.csv")
    ]


def _mapping(name: str, key: str, value: str) -> dict[str, str]:
    rows = table(name)
    found = {row[key]: row[value] for row in rows}
    if len(found) != len(rows) or any(text != text.lower() for text in found):
        raise PriceBookError(f"{name}: every {key} must be lower case and stand once")
    return found


def _of_seller(name: str) -> dict[tuple[str, str], str]:
    rows = table(name)
    found = {(row["seller"], row["written"]): row["region"] for row in rows}
    if len(found) != len(rows) or any(written != written.lower() for _, written in found):
        raise PriceBookError(f"{name}: every name must be lower case and stand once for a seller")
    return found


def table(name: str) -> list[dict[str, str]]:
    """All rows of one file of data/, as text by column."""
    text = files("accounting.pricing").joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
