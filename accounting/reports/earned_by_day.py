"""What did each user's subscriptions earn in a period, as billed or converted day by day?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import cached_property

from accounting.money import from_minor
from accounting.pricing.currency import rounded
from accounting.reports.convert import Converter, DayAmounts
from accounting.reports.exact import exact_product, plus
from accounting.revenue.recognise import Subscription, earned_by_day, recognised

Revenue = dict[tuple[str, str], Decimal]
"""(user_id, currency) -> recognised revenue, currency units."""

_Terms = tuple[int, str, date, date]


class Earned:
    """Recognised revenue of the days [start, end)."""

    def __init__(self, subscriptions: Iterable[Subscription], start: date, end: date) -> None:
        self._terms: defaultdict[_Terms, list[str]] = defaultdict(list)
        self._plain = recognised(subscriptions := list(subscriptions), start, end)
        for one in subscriptions:
            first, until = max(start, one.starts_on), end if one.ends_on is None else min(end, one.ends_on)
            if first < until:
                self._terms[one.monthly_price, one.billing_currency, first, until].append(one.user_id)

    @cached_property
    def by_day(self) -> DayAmounts:
        """(day, currency) -> revenue of all users; days that earn nothing have no key."""
        by_day: defaultdict[tuple[date, str], int] = defaultdict(int)
        for (price, currency, first, until), users in self._terms.items():
            for day, minor in earned_by_day(price, first, until):
                by_day[day, currency] += minor * len(users)
        return {key: from_minor(minor) for key, minor in by_day.items() if minor}

    def as_billed(self) -> Revenue:
        """Exact sums in the currencies of the subscriptions."""
        return {key: from_minor(minor) for key, minor in self._plain.items()}

    def converted(self, converter: Converter) -> Revenue:
        """In the report's currency: each day's revenue at that day's rate, each user's sum rounded once, to 18 decimals."""
        exact: defaultdict[str, Decimal] = defaultdict(Decimal)
        for terms, users in self._terms.items():
            amount = self._amount(terms, converter)
            for user in users:
                exact[user] = plus(exact[user], amount)
        return {(user, converter.to_currency): rounded(amount) for user, amount in exact.items()}

    @staticmethod
    def _amount(terms: _Terms, converter: Converter) -> Decimal:
        price, currency, first, until = terms
        amount = Decimal(0)
        for day, minor in earned_by_day(price, first, until):
            if minor:
                amount = plus(amount, exact_product(from_minor(minor), converter.rates[day, currency].rate))
        return amount
