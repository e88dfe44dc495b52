"""How is an exact fraction shown as a decimal?"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction


def rounded_to(value: Fraction, places: int = 6) -> Decimal:
    """The fraction to so many decimals, half to even."""
    return Decimal(round(value * 10**places)).scaleb(-places)


def percent_of(value: Fraction | None, places: int = 4) -> Decimal | None:
    """100 times the fraction; None stays None."""
    return None if value is None else rounded_to(100 * value, places)
