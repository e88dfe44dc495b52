"""Which priced class does a key of another project's price table mean? Read from the tables in data/, never by likeness."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from accounting.errors import PriceBookError
from accounting.usage.classes import PRICED_CLASSES

PRICE, UNIT, WITHHOLD, OTHER_METER, APART, KNOWN = "price", "unit", "withhold", "other_meter", "apart", "known"


class Use(NamedTuple):
    """What is done with a key.

    Attributes:
        use: `price` of a token; `unit` price of one counted thing; `withhold`: it makes the class (`*`: all) something an event can't
            tell; `other_meter`: the class is sold by another meter, so it stays without a price unless a token price stands too;
            `apart`: a meter or a condition of its own that no event carries, named and left; `known`: repeats another
            key, or is read as a multiplier (litellm_multipliers.py).
    """

    use: str
    token_class: str


UNKNOWN = Use(WITHHOLD, "*")
"""A price key that stands in no table may be anything: nothing of its model looks priced."""


@cache
def uses(name: str) -> Mapping[str, Use]:
    """Key -> what is done with it, of `data/NAME_keys.csv`."""
    found = {row["key"]: Use(row["use"], row["token_class"]) for row in read(f"{name}_keys.csv")}
    classes = {*PRICED_CLASSES, "*", ""}
    if wrong := [key for key, use in found.items() if use.token_class not in classes]:
        raise PriceBookError(f"{name}_keys.csv: {wrong[0]} names no priced class")
    return found


def read(name: str) -> list[dict[str, str]]:
    """Rows of a table in data/."""
    text = files("accounting.pricing.sources").joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
