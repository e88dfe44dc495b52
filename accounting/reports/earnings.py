"""What was earned in a period and from whom, as billed or in one currency: subscriptions, invoice lines, use, and payment fees?

As billed, an amount is exact. In one currency each day's revenue is converted at that day's rate and each subscription's or line's sum
is rounded once, to 18 decimals. What was billed in the report's own currency needs no rate and is never cut into days.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from sqlalchemy import Connection

from accounting.money import from_minor
from accounting.pricing.currency import rounded
from accounting.reports.convert import Converter
from accounting.reports.exact import ZERO, exact_product, plus, stored_units
from accounting.revenue.earned import Revenue, earned_revenue
from accounting.revenue.lines import Owner
from accounting.revenue.monthly import Subscription
from accounting.tenant import TenantContext

UNITS_A_MINOR = 1_000
"""Amounts here are whole numbers of 10^-18 currency units, the scale of stored and of converted sums; minor units are 10^-15."""
FEE = "payment_fee"
MEASURES = ("recognised_revenue", "payment_fees")
"""What conversions call revenue less discounts and refunds, and fees."""


@dataclass(frozen=True, slots=True)
class Earning:
    """One amount earned in a part of the period.

    Attributes:
        kind: of the line (recognition.Line); a payment_fee is a positive cost.
        amount: whole number of 10^-18 currency units, signed as revenue.
        user_id, account_id, plan: None: not known; without user and account it is unmatched.
        part: number of the part of the period, 0 for the first (`Earnings`, cuts).
    """

    kind: str
    amount: int
    billing_currency: str
    user_id: str | None
    account_id: str | None
    plan: str | None
    part: int = 0


_Key = tuple[int, str, str, str | None, str | None, str | None, str | None, str | None]


class Earnings:
    """What was earned on the reporting days [start, end); read while the connection is open.

    Args:
        subscriptions: those that touch the days.
        cuts: days within the period at which a new part begins.
        fees: whether payment fees are among them.
        owner: whose earnings; None: everybody's. The subscriptions are then the owner's.
    """

    def __init__(
        self,
        connection: Connection,
        context: TenantContext,
        subscriptions: Sequence[Subscription],
        start: date,
        end: date,
        cuts: Iterable[date] = (),
        fees: bool = True,
        owner: Owner | None = None,
    ) -> None:
        self._connection, self._context, self._subscriptions = connection, context, subscriptions
        self._fees, self._owner = fees, owner
        self._parts = list(pairwise([start, *sorted({day for day in cuts if start < day < end}), end]))

    @property
    def starts(self) -> list[date]:
        """First day of each part."""
        return [start for start, _ in self._parts]

    def as_billed(self) -> list[Earning]:
        """In the currencies they were billed in; a subscription that earns nothing has an amount of 0."""
        return [_earning(key, amount * UNITS_A_MINOR) for key, amount in self._whole.items()]

    def booked(self, to_currency: str) -> dict[str, dict[tuple[date, str], Decimal]]:
        """Measure (MEASURES) -> (day, currency) -> amount as billed: what `Converter.read` needs.

        What was billed in the report's currency stands on the first day of its part.
        """
        found: dict[str, defaultdict[tuple[date, str], int]] = {name: defaultdict(int) for name in MEASURES}
        for key, amount in self._whole.items():
            if _currency(key) == to_currency:
                found[_measure(key)][self._parts[key[0]][0], to_currency] += amount
        for day, key, amount in self._foreign(to_currency):
            found[_measure(key)][day, _currency(key)] += amount
        return {
            name: {key: from_minor(minor) for key, minor in amounts.items() if minor} for name, amounts in found.items()
        }

    def converted(self, converter: Converter) -> list[Earning]:
        """In the report's currency."""
        exact: dict[_Key, Decimal] = {
            key: from_minor(amount) if _currency(key) == converter.to_currency else ZERO
            for key, amount in self._whole.items()
        }
        for day, key, amount in self._foreign(converter.to_currency):
            rate = converter.rates[day, _currency(key)].rate
            exact[key] = plus(exact.get(key, ZERO), exact_product(from_minor(amount), rate))
        return [_earning(key, stored_units(rounded(amount)), converter.to_currency) for key, amount in exact.items()]

    @cached_property
    def _whole(self) -> dict[_Key, int]:
        return dict(self._sums((part, *days) for part, days in enumerate(self._parts)))

    def _foreign(self, to_currency: str) -> Iterator[tuple[date, _Key, int]]:
        """(day, key, minor units) of what was billed in another currency; nothing is read where nothing was."""
        if any(amount and _currency(key) != to_currency for key, amount in self._whole.items()):
            for day, key, amount in self._days:
                if amount and _currency(key) != to_currency:
                    yield day, key, amount

    @cached_property
    def _days(self) -> list[tuple[date, _Key, int]]:
        found: list[tuple[date, _Key, int]] = []
        for part, (start, end) in enumerate(self._parts):
            for number in range((end - start).days):
                day = start + timedelta(days=number)
                sums = self._sums([(part, day, day + timedelta(days=1))])
                found += [(day, key, amount) for key, amount in sums.items()]
        return found

    def _sums(self, spans: Iterable[tuple[int, date, date]]) -> Mapping[_Key, int]:
        found: defaultdict[_Key, int] = defaultdict(int)
        for part, start, end in spans:
            touched = [
                one
                for one in self._subscriptions
                if one.starts_on < end and (one.ends_on is None or one.ends_on > start)
            ]
            for one in earned_revenue(self._connection, self._context, start, end, touched, self._owner):
                if self._fees or one.kind != FEE:
                    found[_key(part, one)] += one.amount
        return found


def _key(part: int, one: Revenue) -> _Key:
    own = (one.user_id, one.account_id, one.plan, one.subscription_id, one.line_id)
    return (part, one.kind, one.billing_currency, *own)


def _currency(key: _Key) -> str:
    return key[2]


def _measure(key: _Key) -> str:
    return MEASURES[key[1] == FEE]


def _earning(key: _Key, amount: int, currency: str | None = None) -> Earning:
    part, kind, billed, user, account, plan, *_ = key
    return Earning(kind, amount, currency or billed, user, account, plan, part)
