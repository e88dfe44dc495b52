"""What did each user pay in a period, as billed or converted day by day: subscriptions, invoice lines and use, less refunds?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property

from sqlalchemy import Connection

from accounting.money import from_minor
from accounting.pricing.currency import rounded
from accounting.reports.convert import Converter, DayAmounts
from accounting.reports.exact import exact_product, plus
from accounting.revenue.earned import Revenue as One
from accounting.revenue.earned import earned_revenue
from accounting.revenue.monthly import Subscription
from accounting.tenant import TenantContext

Revenue = dict[tuple[str, str], Decimal]
"""(user_id, currency) -> recognised revenue, currency units; user '' for lines that name none."""


class Earned:
    """Recognised revenue of the reporting days [start, end), payment fees left out; read while the connection is open."""

    def __init__(
        self,
        connection: Connection,
        context: TenantContext,
        subscriptions: Sequence[Subscription],
        start: date,
        end: date,
    ) -> None:
        self._connection, self._context, self._subscriptions = connection, context, subscriptions
        self._start, self._end = start, end

    def as_billed(self) -> Revenue:
        """Exact sums in the currencies they were billed in; a subscriber who pays nothing has 0."""
        found: defaultdict[tuple[str, str], int] = defaultdict(int)
        for one in self._between(self._start, self._end):
            found[one.user_id or "", one.billing_currency] += one.amount
        return {key: from_minor(minor) for key, minor in found.items()}

    @cached_property
    def by_day(self) -> DayAmounts:
        """(day, currency) -> revenue of all users; days that earn nothing have no key."""
        found: defaultdict[tuple[date, str], int] = defaultdict(int)
        for day, ones in self._days.items():
            for one in ones:
                found[day, one.billing_currency] += one.amount
        return {key: from_minor(minor) for key, minor in found.items() if minor}

    def converted(self, converter: Converter) -> Revenue:
        """In the report's currency: each day's revenue at that day's rate, each user's sum rounded once, to 18 decimals."""
        by_user: defaultdict[tuple[str, date, str], int] = defaultdict(int)
        for day, ones in self._days.items():
            for one in ones:
                by_user[one.user_id or "", day, one.billing_currency] += one.amount
        exact: defaultdict[str, Decimal] = defaultdict(Decimal)
        for (user, day, currency), minor in by_user.items():
            amount = exact_product(from_minor(minor), converter.rates[day, currency].rate) if minor else Decimal(0)
            exact[user] = plus(exact[user], amount)
        return {(user, converter.to_currency): rounded(amount) for user, amount in exact.items()}

    @cached_property
    def _days(self) -> dict[date, list[One]]:
        days = [self._start + timedelta(days=number) for number in range((self._end - self._start).days)]
        return {day: list(self._between(day, day + timedelta(days=1))) for day in days}

    def _between(self, start: date, end: date) -> Iterable[One]:
        touched = [
            one for one in self._subscriptions if one.starts_on < end and (one.ends_on is None or one.ends_on > start)
        ]
        found = earned_revenue(self._connection, self._context, start, end, touched)
        return [one for one in found if one.kind != "payment_fee"]
