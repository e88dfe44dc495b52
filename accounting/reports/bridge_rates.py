"""At which rates does a bridge compare two periods, and how much of the change did exchange rates make?

Every factor is taken at one rate a currency, the mean of the daily rates of the earlier period, so that no step but `fx` moves with a
rate. `fx` is what daily rates change against that, of the later period less the earlier one: nothing where rates repeat themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT

from accounting.pricing.currency import RULE
from accounting.reports.base import Column
from accounting.reports.convert import Converter, DayAmounts
from accounting.reports.earnings import Earnings
from accounting.reports.ratios import rounded_to
from accounting.reports.sections import Section
from accounting.reports.statement_lines import SERVING
from accounting.storage.fx_rates import read_rates
from accounting.tenant import TenantContext

Days = tuple[date, date]
"""First day, and first day after."""
_COST = text(
    """
    SELECT day, billing_currency, sum(effective_cost) AS amount FROM rollup_user_day
    WHERE tenant = :tenant AND day >= :first AND day < :until AND purpose = ANY(:purposes) AND charge_status = 'priced'
    GROUP BY 1, 2
    """
).bindparams(bindparam("purposes", type_=ARRAY(TEXT)))


@dataclass(frozen=True)
class BridgeRates:
    """Rates of two periods.

    Attributes:
        means: currency of anything used or earned, be it for nothing -> units of the report's currency for one, mean over `over`.
        converter: daily rates of what was booked in either period.
    """

    over: Days
    means: Mapping[str, Fraction]
    converter: Converter

    def constant(self, currency: str) -> Fraction:
        """The rate that factors are taken at."""
        return self.means[currency]

    def cost(self, booked: DayAmounts) -> Fraction:
        """Costs by day at their daily rates, currency units, unrounded."""
        rates = self.converter.rates
        return sum(
            (Fraction(amount) * Fraction(rates[key].rate) for key, amount in booked.items() if amount), Fraction(0)
        )

    def section(self) -> Section:
        """The constant rates, for people."""
        first, until = self.over
        rows = tuple(
            {
                "from_currency": currency,
                "to_currency": self.converter.to_currency,
                "rate": rounded_to(rate, 18),
                "from": first,
                "until": until,
            }
            for currency, rate in sorted(self.means.items())
            if currency != self.converter.to_currency
        )
        columns = (
            Column("from_currency", "text"),
            Column("to_currency", "text"),
            Column("rate", "number"),
            Column("from", "text"),
            Column("until", "text"),
        )
        note = (
            "Every step but fx is at the mean of the daily rates of the earlier period; fx is what daily rates change against that. "
            f"Daily rates: {RULE}."
        )
        return Section("constant_rates", "Rates that factors are compared at", columns, rows, note)


def booked_costs(connection: Connection, context: TenantContext, days: Days) -> DayAmounts:
    """(day, currency) -> priced cost of serving users, as booked."""
    asked = {"tenant": context.tenant, "first": days[0], "until": days[1], "purposes": list(SERVING)}
    return {(row.day, row.billing_currency): row.amount for row in connection.execute(_COST, asked)}


def read_bridge_rates(
    connection: Connection, to_currency: str, over: Days, costs: Iterable[DayAmounts], earned: Iterable[Earnings]
) -> BridgeRates:
    """Rates for what both periods hold. Raises MissingRate for a day without one, of the earlier period or of an amount."""
    spent = {key: amount for one in costs for key, amount in one.items()}
    # What cost nothing needs no rate of its day.
    booked: dict[str, DayAmounts] = {"effective_cost": {key: amount for key, amount in spent.items() if amount}}
    currencies = {to_currency, *(currency for _, currency in spent)}
    for one in earned:
        currencies |= {billed.billing_currency for billed in one.as_billed()}
        for measure, amounts in one.booked(to_currency).items():
            booked[measure] = {**booked.get(measure, {}), **amounts}
    converter = Converter.read(connection, to_currency, booked)
    days = [over[0] + timedelta(days=number) for number in range((over[1] - over[0]).days)]
    table = read_rates(connection, currencies, days[0], days[-1])
    means = {
        currency: sum((Fraction(table.rate(currency, to_currency, day).rate) for day in days), Fraction(0)) / len(days)
        for currency in sorted(currencies)
    }
    return BridgeRates(over, means, converter)
