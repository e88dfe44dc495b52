"""How do a report's amounts become one currency: at which rate, of which day, and how is that told?

Every reporting day's sums are converted at the rate of that day, by the rule in accounting/pricing/currency.py. The database multiplies
exactly; a row of the report is rounded once, to 18 decimals, and its totals are sums of such rows, so a converted report foots.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, Numeric, Text, bindparam
from sqlalchemy.dialects.postgresql import ARRAY, INTEGER
from sqlalchemy.sql.elements import BindParameter

from accounting.pricing.currency import RULE, Rate, rounded
from accounting.reports.base import Footer
from accounting.reports.exact import ZERO, exact_product, minus, plus, total
from accounting.storage.fx_rates import read_rates

DayAmounts = Mapping[tuple[date, str], Decimal]
"""(day, currency) -> what was booked; a key with 0 has costs of another measure only."""


@dataclass(frozen=True)
class Conversion:
    """One day's amount of one currency, as it was booked and in the report's currency.

    Attributes:
        measure: what is converted: effective_cost, recognised_revenue.
        day: the reporting day. from_currency, to_currency: ISO 4217.
        amount, converted: exact; the second is amount x rate to 18 decimals.
        rate, rate_date: to 34 digits; the day it was published for.
        rule, source, source_version: how the rate was chosen, and where it is from.
    """

    measure: str
    day: date
    from_currency: str
    to_currency: str
    amount: Decimal
    rate: Decimal
    rate_date: date
    converted: Decimal
    rule: str
    source: str
    source_version: str


# day_no is the number of the day in the report, from 1. What has no rate has no cost: `Converter.read` refuses the rest.
JOIN = (
    "LEFT JOIN unnest(:rated_days, :rated_currencies, :rates) AS rated (day_no, currency, rate) "
    "ON rated.currency = billing_currency AND rated.day_no = {day_no}"
)
PARAMETERS: tuple[BindParameter[Any], ...] = (
    bindparam("rated_days", type_=ARRAY(INTEGER)),
    bindparam("rated_currencies", type_=ARRAY(Text)),
    bindparam("rates", type_=ARRAY(Numeric)),
)
"""Types of what `Converter.parameters` gives for JOIN."""


@dataclass(frozen=True)
class Converter:
    """Rates of every day and currency that a report has amounts in.

    Attributes:
        to_currency: of the report.
        rates: (day, currency) -> rate; of one currency into itself it is 1.
        booked: measure -> day amounts, as they were read.
    """

    to_currency: str
    rates: Mapping[tuple[date, str], Rate]
    booked: Mapping[str, DayAmounts]

    @classmethod
    def read(cls, connection: Connection, to_currency: str, booked: Mapping[str, DayAmounts]) -> Converter:
        """Reads the rates that these amounts need. Raises MissingRate for the first day that has none."""
        keys = sorted({key for amounts in booked.values() for key in amounts})
        if not keys:
            return cls(to_currency, {}, booked)
        table = read_rates(connection, {to_currency, *(currency for _, currency in keys)}, keys[0][0], keys[-1][0])
        return cls(to_currency, {(day, name): table.rate(name, to_currency, day) for day, name in keys}, booked)

    def parameters(self, days: Sequence[date]) -> dict[str, Any]:
        """What JOIN needs; `days` are the days of the report in their order."""
        number = {day: place for place, day in enumerate(days, start=1)}
        return {
            "rated_days": [number[day] for day, _ in self.rates],
            "rated_currencies": [currency for _, currency in self.rates],
            "rates": [rate.rate for rate in self.rates.values()],
        }

    def rounded(self, rows: Iterable[Any], costs: Iterable[str]) -> list[Any]:
        """Rows of sums of cost x rate, each cost rounded once, all in the report's currency."""
        names = tuple(costs)
        own = {"billing_currency": self.to_currency}
        return [
            SimpleNamespace(**dict(row._mapping) | own | {name: rounded(getattr(row, name)) for name in names})
            for row in rows
        ]

    def by_day(self, rows: Iterable[Any], cost: str) -> list[Any]:
        """Rows of one day each (`day`) with their cost in the report's currency, not yet rounded."""
        return [
            SimpleNamespace(
                **dict(row._mapping) | {"billing_currency": self.to_currency, cost: self._at_its_day(row, cost)}
            )
            for row in rows
        ]

    def _at_its_day(self, row: Any, cost: str) -> Decimal:
        booked: Decimal = getattr(row, cost)
        return exact_product(booked, self.rates[row.day, row.billing_currency].rate) if booked else ZERO

    def conversions(self) -> list[Conversion]:
        """One line a measure, day and currency other than the report's, in this order."""
        return [
            _conversion(measure, rate, amount)
            for measure, amounts in self.booked.items()
            for (day, currency), amount in sorted(amounts.items())
            if (rate := self.rates[day, currency]).from_currency != self.to_currency
        ]

    def footer(self, measure: str, reported: Decimal) -> list[Footer]:
        """What ties the report's total in its own currency to the day amounts below it."""
        amounts = self.booked[measure]
        days = total(self.rates[key].convert(amount) for key, amount in amounts.items())
        lines = [
            ("converted_by_day", days, f"{measure} of every day and currency, converted and then summed"),
            (
                "conversion_rounding",
                minus(reported, days),
                "total less converted_by_day: each row is rounded by itself, by at most half of 10^-18",
            ),
        ]
        return [Footer(f"{measure}_{name}", amount, self.to_currency, note) for name, amount, note in lines]

    def by_currency(self, measure: str) -> dict[str, Decimal]:
        """Sum of a measure as booked, by currency."""
        found: defaultdict[str, Decimal] = defaultdict(Decimal)
        for (_, currency), amount in self.booked[measure].items():
            found[currency] = plus(found[currency], amount)
        return dict(found)


def _conversion(measure: str, rate: Rate, amount: Decimal) -> Conversion:
    return Conversion(
        measure,
        rate.on,
        rate.from_currency,
        rate.to_currency,
        amount,
        rate.rate,
        rate.rate_date,
        rate.convert(amount),
        RULE,
        rate.source,
        rate.source_version,
    )
