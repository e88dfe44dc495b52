"""What is an amount worth in another currency on a day, by a rate anybody can look up and a rule anybody can repeat?

Rates are the European Central Bank's reference rates: units of a currency for one euro, published on working days. Pure: a table of
them goes in, exact Decimals come out; nothing is rounded but the rate, once, and the converted amount, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation

from accounting.errors import MissingRate, MoneyError
from accounting.money import format_plain, parse_amount
from accounting.pricing.currency_codes import currency_code

BASE = "EUR"
MOST_DAYS_BACK = 7
RATE_DIGITS = 34
CONVERTED_SCALE = 18
RULE = (
    f"reference rate of the day, else the last one published before it, at most {MOST_DAYS_BACK} days back; cross rates through "
    f"{BASE}, to {RATE_DIGITS} digits; amount times rate rounded half to even to {CONVERTED_SCALE} decimals"
)
"""Printed beside every conversion. On working days the longest gap between two publications so far is 5 days (Easter)."""

_RATE = Context(prec=RATE_DIGITS, rounding=ROUND_HALF_EVEN)
_EXACT = Context(prec=200, traps=[Inexact, InvalidOperation])
_ROUND = Context(prec=200, rounding=ROUND_HALF_EVEN)
_PLACES = Decimal(1).scaleb(-CONVERTED_SCALE)
_ONE = Decimal(1)


@dataclass(frozen=True)
class ReferenceRate:
    """One published rate.

    Attributes:
        rate_date: day it was published for.
        per_eur: units of `currency` for one euro, as published; positive.
        source, source_version: who published it, and in which file it was read.
    """

    currency: str
    rate_date: date
    per_eur: Decimal
    source: str
    source_version: str

    def __post_init__(self) -> None:
        currency_code(self.currency)
        amount = parse_amount(self.per_eur, f"rate of {self.currency} on {self.rate_date}")
        if amount <= 0 or self.currency == BASE:
            raise MoneyError(
                f"rate of {self.currency} on {self.rate_date}", self.per_eur, "a positive rate is expected"
            )


@dataclass(frozen=True)
class Rate:
    """The rate of one currency into another, of one day.

    Attributes:
        from_currency, to_currency: ISO 4217; one unit of the first is `rate` units of the second.
        on: the day asked for. rate_date: the day of publication; `on` itself where both are one currency.
        rate: to 34 significant digits, half to even; exactly 1 for one currency.
        from_per_eur, to_per_eur: what was published, 1 for the euro itself.
        source, source_version: of the published rates; '' for one currency.
    """

    from_currency: str
    to_currency: str
    on: date
    rate_date: date
    rate: Decimal
    from_per_eur: Decimal
    to_per_eur: Decimal
    source: str
    source_version: str

    @property
    def rule(self) -> str:
        return RULE

    def convert(self, amount: Decimal) -> Decimal:
        """Amount times rate, rounded once, half to even, to 18 decimals. Raises MoneyError for anything but a finite Decimal."""
        if not isinstance(amount, Decimal) or not amount.is_finite():
            raise MoneyError("amount", amount, "an amount is a finite Decimal, never a float")
        return rounded(_EXACT.multiply(amount, self.rate))

    def described(self) -> dict[str, str]:
        """The rate as text, every figure that it was made of beside it."""
        return {
            "from": self.from_currency,
            "to": self.to_currency,
            "date": self.on.isoformat(),
            "rate": format_plain(self.rate),
            "rate_date": self.rate_date.isoformat(),
            "from_per_eur": format_plain(self.from_per_eur),
            "to_per_eur": format_plain(self.to_per_eur),
            "rule": self.rule,
            "source": self.source,
            "source_version": self.source_version,
        }


def rounded(product: Decimal) -> Decimal:
    """An exact product of amount and rate to 18 decimals, half to even."""
    return _ROUND.quantize(product, _PLACES)


class RateTable:
    """Published rates of some currencies and days, from which rates between any two of them follow."""

    def __init__(self, rates: Iterable[ReferenceRate]) -> None:
        self._rates = {(rate.currency, rate.rate_date): rate for rate in rates}

    def rate(self, from_currency: str, to_currency: str, on: date) -> Rate:
        """The rate by RULE. Of two currencies both must have been published on the same day.

        Raises InvalidInput for a currency there is none of, MissingRate that names the currency and the date.
        """
        for currency in (from_currency, to_currency):
            currency_code(currency)
        if from_currency == to_currency:
            return Rate(from_currency, to_currency, on, on, _ONE, _ONE, _ONE, "", "")
        needed = [currency for currency in (from_currency, to_currency) if currency != BASE]
        for back in range(MOST_DAYS_BACK + 1):
            day = on - timedelta(days=back)
            found = [self._rates.get((currency, day)) for currency in needed]
            if all(found):
                return _rate(from_currency, to_currency, on, {rate.currency: rate for rate in found if rate})
        raise self._missing(needed, on)

    def _missing(self, needed: list[str], on: date) -> MissingRate:
        """Names the currency that lacks rates; both, where each has some but never on one day."""
        days = {on - timedelta(days=back) for back in range(MOST_DAYS_BACK + 1)}
        lacking = [name for name in needed if not any((name, day) in self._rates for day in days)]
        return MissingRate(" and ".join(lacking or needed), on, MOST_DAYS_BACK)


def _rate(from_currency: str, to_currency: str, on: date, found: dict[str, ReferenceRate]) -> Rate:
    one = next(iter(found.values()))
    from_per_eur, to_per_eur = (
        found[currency].per_eur if currency != BASE else _ONE for currency in (from_currency, to_currency)
    )
    return Rate(
        from_currency,
        to_currency,
        on,
        one.rate_date,
        _RATE.divide(to_per_eur, from_per_eur),
        from_per_eur,
        to_per_eur,
        one.source,
        one.source_version,
    )
