"""How is an exact fraction shown as a decimal?"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction


def rounded_to(value: Fraction, places: int = 6) -> Decimal:
    """The fraction to so many decimals, half to even."""
    return Decimal(round(value * 10**places)).scaleb(-places)


def rounded_if_known(value: Fraction | float | None, places: int = 6) -> Decimal | None:
    """The same of a number that may be None: that stays None."""
    return None if value is None else rounded_to(Fraction(value), places)


def percent_of(value: Fraction | None, places: int = 4) -> Decimal | None:
    """100 times the fraction; None stays None."""
    return None if value is None else rounded_to(100 * value, places)


def change_pct(new: Fraction | None, old: Fraction | None) -> Decimal | None:
    """By how many percent of the old the new is more; None where one is not known or the old is 0."""
    return None if new is None or not old else percent_of(new / old - 1)


def per(part: Decimal | int | None, whole: int, times: int = 1) -> Decimal | None:
    """part x times / whole to 6 decimals; None where the part is not known or there is nothing to divide by."""
    return None if part is None or not whole else rounded_to(Fraction(part) * times / whole)


def in_steps(values: Sequence[Fraction], places: int) -> list[Decimal]:
    """Steps as decimals: the running total is rounded, so that they add up to the rounded sum."""
    result, running, shown = [], Fraction(0), Fraction(0)
    for value in values:
        running += value
        rounded = Fraction(round(running * 10**places), 10**places)
        result.append(rounded_to(rounded - shown, places))
        shown = rounded
    return result
