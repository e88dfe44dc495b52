"""How are amounts added up and compared without losing a digit?"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation

from accounting.errors import MoneyError

ZERO = Decimal(0)
_EXACT = Context(prec=120, traps=[Inexact, InvalidOperation])
_RATIO = Context(prec=120, rounding=ROUND_HALF_EVEN)
STORED_SCALE = 18


def plus(left: Decimal, right: Decimal) -> Decimal:
    """Sum of two amounts; raises where a digit would be lost (the default context silently keeps 28)."""
    return _EXACT.add(left, right)


def minus(left: Decimal, right: Decimal) -> Decimal:
    """Difference of two amounts."""
    return _EXACT.subtract(left, right)


def exact_product(left: Decimal, right: Decimal) -> Decimal:
    """Product of two numbers of which at least one is no amount, as an amount and a rate."""
    return _EXACT.multiply(left, right)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Sum of amounts; 0 for none."""
    result = ZERO
    for amount in amounts:
        result = _EXACT.add(result, amount)
    return result


def stored_units(amount: Decimal) -> int:
    """The amount as a whole number of 10^-18, the scale of stored sums."""
    return int(_EXACT.quantize(amount, Decimal(1).scaleb(-STORED_SCALE)).scaleb(STORED_SCALE, _EXACT))


def from_stored(units: int) -> Decimal:
    """Currency units of a whole number of 10^-18."""
    return _EXACT.scaleb(Decimal(units), -STORED_SCALE)


def percent(part: Decimal | int, whole: Decimal | int, places: int = 4) -> Decimal | None:
    """100 * part / whole to `places` decimals, half to even; None where the whole is 0. A ratio, not an amount."""
    if isinstance(part, float) or isinstance(whole, float):
        raise MoneyError("percent", f"{part}/{whole}", "a float is refused")
    if whole == 0:
        return None
    quotient = _RATIO.divide(_RATIO.multiply(Decimal(100), Decimal(part)), Decimal(whole))
    return _RATIO.quantize(quotient, Decimal(1).scaleb(-places))
