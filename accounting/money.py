"""How is an exact amount read, held, rounded, split and written? Nothing else in the project rounds, splits or formats money.

Two integer scales, both of the same size: a cost is a whole number of 10^-15 currency units (`MINOR_SCALE`); a price is a whole
number of 10^-9 currency units for a million tokens (`PRICE_SCALE`), which is 10^-15 for one token, so that tokens times price
is a cost without any rounding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from accounting.errors import MoneyError

MINOR_SCALE = 15
PRICE_SCALE = 9
CENT_SCALE = 2
LINE_SCALE = 18
"""Decimals of a stored amount; a line without tokens, such as a bill, may use them all."""
LINES_A_MINOR: int = 10 ** (LINE_SCALE - MINOR_SCALE)
"""Whole 10^-18 in a minor unit."""
EVENT_LIMIT: int = 9_000 * 10**MINOR_SCALE
"""The most one event may cost, in minor units: just below what an int64 holds."""

_PLAIN = re.compile(r"-?[0-9]{1,38}(\.[0-9]{1,38})?")
_EXACT = Context(prec=120, traps=[Inexact, InvalidOperation])
_WIDE = Context(prec=120, rounding=ROUND_HALF_EVEN)
_NOISE = Decimal("1e-9")
_LOW_HALF = 0xFFFFFFFF


@dataclass(frozen=True, order=False)
class Money:
    """An exact amount of one currency.

    Attributes:
        amount: currency units, a finite Decimal; a float is refused.
        currency: ISO 4217 code, three capitals.
    """

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal) or not self.amount.is_finite():
            raise MoneyError("amount", self.amount, "an amount is a finite Decimal, never a float")
        if not re.fullmatch("[A-Z]{3}", self.currency):
            raise MoneyError("currency", self.currency, "an ISO 4217 code of three capitals is expected")

    def __add__(self, other: Money) -> Money:
        return Money(_EXACT.add(self.amount, self._same(other)), self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(_EXACT.subtract(self.amount, self._same(other)), self.currency)

    def __neg__(self) -> Money:
        return Money(self.amount.copy_negate(), self.currency)

    def __str__(self) -> str:
        return f"{format_plain(self.amount)} {self.currency}"

    def _same(self, other: Money) -> Decimal:
        if self.currency != other.currency:
            raise MoneyError("currency", other.currency, f"can't be added to {self.currency} without a stated rate")
        return other.amount


def parse_amount(value: str | int | Decimal, field: str = "amount") -> Decimal:
    """An amount as it was written, exactly. Text is plain decimal: no exponent, no NaN, no grouping; a float is refused."""
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        raise MoneyError(field, value, f"{type(value).__name__} is not an exact amount")
    if isinstance(value, Decimal) and not value.is_finite():
        raise MoneyError(field, value, "an amount must be finite")
    text = value if isinstance(value, str) else f"{Decimal(value):f}"
    if not _PLAIN.fullmatch(text):
        raise MoneyError(field, value, "a plain decimal of at most 38 digits on either side of the point is expected")
    return Decimal(text)


def to_minor(value: str | int | Decimal, field: str = "amount") -> int:
    """Minor units (10^-15 currency units) of an amount. More than 15 decimals are refused, never rounded."""
    return _scaled(parse_amount(value, field), MINOR_SCALE, field)


def from_minor(minor: int) -> Decimal:
    """The exact amount in currency units of a whole number of minor units."""
    return _EXACT.scaleb(Decimal(int(minor)), -MINOR_SCALE)


def to_line(amount: Decimal, field: str = "amount") -> int:
    """Whole 10^-18 of a stored amount."""
    return _scaled(amount, LINE_SCALE, field)


def from_line(units: int) -> Decimal:
    """The exact amount in currency units of a whole number of 10^-18."""
    return _EXACT.scaleb(Decimal(int(units)), -LINE_SCALE)


def parse_unit_price(value: str | int | Decimal, field: str = "unit_price") -> int:
    """A price per million tokens (or per thousand units) as a whole number of 10^-9 currency units.

    A tenth decimal and further ones are float noise when they change the price by less than one part in 10^9: they are dropped
    (0.18000000000000002 is 0.18), and the caller keeps the text. Otherwise the price is refused, as 1/12 written out is:
    rounding it would be a price nobody stated. Negative prices are refused.
    """
    price = parse_amount(value, field)
    if price < 0:
        raise MoneyError(field, value, "a unit price can't be negative")
    rounded = _WIDE.quantize(price, Decimal(1).scaleb(-PRICE_SCALE))
    if abs(_WIDE.subtract(price, rounded)) > _WIDE.multiply(price, _NOISE):
        raise MoneyError(field, value, f"more than {PRICE_SCALE} decimals can't be held exactly")
    return _scaled(rounded, PRICE_SCALE, field)


def exact_product(factors: Iterable[Decimal]) -> Decimal:
    """The product to its last digit; MoneyError where that takes more than 120 of them."""
    product = Decimal(1)
    for factor in factors:
        try:
            product = _EXACT.multiply(product, factor)
        except Inexact:
            raise MoneyError("factor", factor, "the product has more than 120 digits") from None
    return product


def round_unit_price(price: Decimal, field: str = "unit_price") -> int:
    """A price that was worked out, rounded half to even to a whole number of 10^-9 currency units. What a seller or a contract
    states as a price goes through `parse_unit_price`, which rounds nothing."""
    if price < 0:
        raise MoneyError(field, price, "a unit price can't be negative")
    return int(_WIDE.quantize(price, Decimal(1).scaleb(-PRICE_SCALE)).scaleb(PRICE_SCALE, _WIDE))


def format_plain(amount: Decimal) -> str:
    """Digits and a point, never an exponent, no zeros at the end: 7.5E-8 is 0.000000075, 1E+3 is 1000, -0.00 is 0."""
    if not isinstance(amount, Decimal) or not amount.is_finite():
        raise MoneyError("amount", amount, "an amount is a finite Decimal, never a float")
    text = f"{amount:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def format_exact(amount: Fraction) -> str:
    """The same for a sum of decimals held as a fraction; MoneyError where its digits don't end within 120."""
    try:
        return format_plain(_EXACT.divide(Decimal(amount.numerator), Decimal(amount.denominator)))
    except Inexact:
        raise MoneyError("amount", str(amount), "is no decimal of at most 120 digits") from None


def format_scaled(value: int, scale: int) -> str:
    """The same for a whole number of 10^-scale, without a detour through Decimal."""
    sign, digits = ("-" if value < 0 else ""), str(abs(int(value))).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :].rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def format_minor(minor: int) -> str:
    """A cost in minor units as plain decimal text of currency units."""
    return format_scaled(minor, MINOR_SCALE)


def split(total: int, weights: Sequence[int], ids: Sequence[str]) -> list[int]:
    """`total` in whole units, shared in proportion to `weights`: parts add up to `total` exactly, for negative totals too.

    Largest remainder: each part is its exact share rounded down in magnitude, and the units left over go one each to the largest
    remainders, ties to the smaller id. A pool without weight can't be shared by weight: it raises, and the caller decides where
    the amount goes.
    """
    if len(weights) != len(ids):
        raise MoneyError("ids", len(ids), f"one id for each of {len(weights)} weights is expected")
    if len(set(ids)) != len(ids):
        raise MoneyError("ids", list(ids), "ids must differ, or ties could fall either way")
    if any(isinstance(weight, bool) or not isinstance(weight, int) or weight < 0 for weight in weights):
        raise MoneyError("weights", list(weights), "weights are whole numbers, not negative")
    pool = sum(weights)
    if pool == 0:
        raise MoneyError("weights", list(weights), f"nothing to share {total} by: the weights add up to 0")
    sign = -1 if total < 0 else 1
    shares = [divmod(abs(total) * weight, pool) for weight in weights]
    parts = [whole for whole, _ in shares]
    left = abs(total) - sum(parts)
    for at in sorted(range(len(parts)), key=lambda at: (-shares[at][1], ids[at]))[:left]:
        parts[at] += 1
    return [sign * part for part in parts]


def round_to_cents(minor: int, digits: int = CENT_SCALE) -> int:
    """Whole cents of a cost in minor units, half to even; `digits`: decimals of the currency's smallest unit (yen: 0)."""
    return int(_WIDE.quantize(from_minor(minor), Decimal(1).scaleb(-digits)).scaleb(digits))


def statement_cents(lines: Sequence[int], ids: Sequence[str]) -> list[int]:
    """Lines of a statement in whole cents that add up to the total rounded half to even, as a reader with a pencil expects.

    Every line is rounded down; the cents still missing go one each to the largest remainders, ties to the smaller id. No line
    is further than one cent from its exact amount.
    """
    if len(lines) != len(ids):
        raise MoneyError("ids", len(ids), f"one id for each of {len(lines)} lines is expected")
    cent = 10 ** (MINOR_SCALE - CENT_SCALE)
    floors = [divmod(line, cent) for line in lines]
    cents = [whole for whole, _ in floors]
    missing = round_to_cents(sum(lines)) - sum(cents)
    for at in sorted(range(len(cents)), key=lambda at: (-floors[at][1], ids[at]))[:missing]:
        cents[at] += 1
    return cents


def exact_sum(values: npt.NDArray[np.int64]) -> int:
    """Sum of int64 amounts as a Python integer. An int64 sum wraps without a word past 9,223 currency units; this one can't.

    The halves of 32 bits are summed apart, in blocks short enough that neither sum can reach 63 bits.
    """
    if values.dtype != np.int64:
        raise MoneyError("values", values.dtype, "an int64 array is expected")
    total, block = 0, 1 << 30
    for start in range(0, values.size, block):
        part = values.reshape(-1)[start : start + block]
        total += (int((part >> 32).sum()) << 32) + int((part & _LOW_HALF).sum())
    return total


def _scaled(amount: Decimal, scale: int, field: str) -> int:
    try:
        return int(_EXACT.quantize(amount, Decimal(1).scaleb(-scale)).scaleb(scale, _EXACT))
    except (Inexact, InvalidOperation):
        raise MoneyError(field, amount, f"more than {scale} decimals can't be held exactly") from None
