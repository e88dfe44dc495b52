"""How many decimals does an integer amount of Stripe's have? Its own table: libraries of currencies disagree with it."""

from __future__ import annotations

from accounting.errors import InvalidInput
from accounting.money import MINOR_SCALE
from accounting.pricing.currency_codes import currency_code
from accounting.revenue.subscriptions import DEAREST

ZERO_DECIMAL = frozenset(
    ("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF")
)
THREE_DECIMAL = frozenset(("BHD", "JOD", "KWD", "OMR", "TND"))
"""Charged in steps of ten of the smallest unit: the last digit is 0."""


def exponent(currency: str) -> int:
    """Decimals of an amount in this currency. ISK and UGX have none in payments and are still sent with two; HUF and TWD too."""
    return 0 if currency in ZERO_DECIMAL else 3 if currency in THREE_DECIMAL else 2


def stripe_currency(value: object) -> str:
    """The ISO 4217 code of Stripe's lower-case one; raises InvalidInput for anything else."""
    if not isinstance(value, str) or value != value.lower():
        raise InvalidInput("currency", value, "a lower-case ISO 4217 code is expected")
    return currency_code(value.upper())


def stripe_minor(field: str, value: object, currency: str) -> int:
    """Minor units (10^-15 currency units) of an integer amount; raises InvalidInput for a float, a text, a digit too many or DEAREST."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(field, value, "a whole number of the currency's smallest unit is expected")
    if currency in THREE_DECIMAL and value % 10:
        raise InvalidInput(field, value, f"an amount in {currency} ends in 0")
    if abs(value) >= DEAREST * 10 ** exponent(currency):
        raise InvalidInput(field, value, f"must be below {DEAREST} {currency}")
    return value * int(10 ** (MINOR_SCALE - exponent(currency)))
