"""Which currencies are there, and with how many decimals does a statement print each?"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from accounting.errors import InvalidInput


@cache
def minor_digits() -> dict[str, int]:
    """ISO 4217 code -> decimals of its smallest unit in payments (JPY 0, USD 2, KWD 3); withdrawn codes of the ECB's history too."""
    text = (files("accounting.pricing") / "data" / "currencies.csv").read_text(encoding="utf-8")
    return {row["currency"]: int(row["minor_digits"]) for row in csv.DictReader(text.splitlines())}


def currency_code(value: object, field: str = "currency") -> str:
    """The code as it is. Raises InvalidInput for what is no ISO 4217 code in capitals."""
    if not isinstance(value, str) or value not in minor_digits():
        raise InvalidInput(field, value, "no such currency: an ISO 4217 code of three capitals is expected, e.g. EUR")
    return value
