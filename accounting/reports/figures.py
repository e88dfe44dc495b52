"""What are a margin report's costs and earnings, as booked or in one currency, and what ties them to the ledger?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, text

from accounting.reports.account_requests import reach_users
from accounting.reports.base import Footer, Row
from accounting.reports.convert import Conversion, Converter, DayAmounts
from accounting.reports.earnings import Earning, Earnings
from accounting.reports.exact import ZERO, total
from accounting.reports.margin_data import booked_by_day, read_costs
from accounting.reports.margin_row import COSTS
from accounting.reports.query import ReportQuery
from accounting.reports.reconcile import by_user_day
from accounting.revenue.account_rules import read_account_rules
from accounting.revenue.lines import Owner
from accounting.revenue.monthly import Subscription
from accounting.tenant import TenantContext


@dataclass(frozen=True)
class Figures:
    """One period's costs and earnings.

    Attributes:
        costs: rows of `read_costs`. earnings: with account revenue shared out where asked.
        ledger: effective cost by billing currency, summed without any grouping.
        converter: None: as booked, a block a billing currency.
    """

    costs: Sequence[Any]
    earnings: Sequence[Earning]
    ledger: Mapping[str, Decimal]
    converter: Converter | None

    def currencies(self, context: TenantContext) -> list[str]:
        """The report's one currency, or all that anything was billed in, and the tenant's."""
        if self.converter is not None:
            return [self.converter.to_currency]
        billed = {row.billing_currency for row in self.costs} | {one.billing_currency for one in self.earnings}
        return sorted(billed | {context.billing_currency})

    def of(self, currency: str) -> tuple[list[Any], list[Earning]]:
        """Cost rows and earnings of one currency."""
        return [row for row in self.costs if row.billing_currency == currency], [
            one for one in self.earnings if one.billing_currency == currency
        ]

    def footer(self, totals: Mapping[str, Row]) -> list[Footer]:
        """What ties each currency's total row (of all spend) to the ledger, and a converted one to the days it was converted on."""
        feet: list[Footer] = []
        reported = {currency: total(row[name] or ZERO for name in COSTS) for currency, row in totals.items()}
        if self.converter is not None:
            (currency,) = totals
            whole = {
                "effective_cost": reported[currency],
                "recognised_revenue": totals[currency]["net_revenue"],
                "payment_fees": totals[currency]["payment_fees"],
            }
            for measure, amount in whole.items():
                feet += self.converter.footer(measure, amount)
            reported = dict.fromkeys(self.ledger, ZERO) | self.converter.by_currency("effective_cost")
        for currency, amount in sorted(reported.items()):
            feet += by_user_day(currency, amount, self.ledger.get(currency, ZERO))
        return feet

    def conversions(self) -> list[Conversion]:
        """One line a measure, day and currency that was converted."""
        return [] if self.converter is None else self.converter.conversions()


def read_figures(
    connection: Connection,
    context: TenantContext,
    query: ReportQuery,
    first: date,
    until: date,
    subscriptions: Sequence[Subscription],
    *,
    dimension: str | None = None,
    changes: Sequence[date] = (),
    reach: bool = True,
    more: Mapping[str, DayAmounts] | None = None,
    owner: Owner | None = None,
) -> Figures:
    """Reads the reporting days [first, until) as `query.currency` asks. Raises MissingRate for a day without a rate.

    Args:
        subscriptions: those that touch the days. dimension, changes: see `read_costs`.
        reach: whether account revenue reaches users by the tenant's rule, or stays on the account.
        more: further measures to convert, in the report's converter.
        owner: whose figures; the subscriptions are then the user's and those of its accounts, and nothing ties to the ledger.
    """
    rules, user = read_account_rules(connection, context), None if owner is None else owner.user_id
    own = [one for one in subscriptions if user in (None, one.user_id)]
    cuts = rules.starts if reach else ()
    earned = Earnings(connection, context, own, first, until, cuts, owner=owner)
    converter: Converter | None = None
    if query.currency is not None:
        booked: dict[str, DayAmounts] = {"effective_cost": booked_by_day(connection, context, first, until, user)}
        converter = Converter.read(
            connection, query.currency, booked | earned.booked(query.currency) | dict(more or {})
        )
    costs = read_costs(
        connection, context, query, first, until, dimension=dimension, changes=changes, converter=converter, user=user
    )
    earnings = earned.as_billed() if converter is None else earned.converted(converter)
    if reach:
        earnings = reach_users(connection, context, earnings, rules, subscriptions, earned.starts, until)
    if user is not None:
        return Figures(costs, [one for one in earnings if one.user_id == user], {}, converter)
    return Figures(costs, earnings, ledger_totals(connection, context, first, until), converter)


def ledger_totals(connection: Connection, context: TenantContext, first: date, until: date) -> dict[str, Decimal]:
    """Effective cost by currency of the reporting days [first, until), summed without any grouping."""
    rows = connection.execute(
        text(
            "SELECT billing_currency, sum(effective_cost) AS cost FROM rollup_user_day "
            "WHERE tenant = :tenant AND day >= :first AND day < :until GROUP BY 1"
        ),
        {"tenant": context.tenant, "first": first, "until": until},
    )
    return {row.billing_currency: row.cost for row in rows}


def stray(earnings: Iterable[Earning]) -> int:
    """Revenue of lines that name neither a user nor an account, whole number of 10^-18."""
    return sum(one.amount for one in earnings if not one.user_id and not one.account_id and one.kind != "payment_fee")
