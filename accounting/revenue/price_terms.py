"""What does one subscription earn on which days: dated prices, seats, annual terms, trials, pauses, coupons, comped?"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

from accounting.errors import InvalidInput
from accounting.revenue.monthly import Subscription, earned
from accounting.revenue.recognition import rounded


@dataclass(frozen=True)
class PlanPrice:
    """A price of a plan from a day on.

    Attributes: price: minor units for `interval_months` of one seat.
    """

    effective_from: date
    interval_months: int
    price: int


@dataclass(frozen=True)
class Term:
    """Days on which a subscription is paused or discounted.

    Attributes:
        kind: pause | coupon.
        starts_on, ends_on: half-open; ends_on None: from then on.
        percent_off: of the price, 0 to 100; amount_off: minor units off a month's price; exactly one of a coupon, none of a pause.
    """

    kind: str
    starts_on: date
    ends_on: date | None = None
    percent_off: Decimal | None = None
    amount_off: int | None = None

    def covers(self, day: date) -> bool:
        """Whether the day is one of its days."""
        return self.starts_on <= day and (self.ends_on is None or day < self.ends_on)


@dataclass(frozen=True)
class Earned:
    """Revenue before and after discounts, minor units. `discounts` is negative or 0."""

    gross: int
    discounts: int

    @property
    def net(self) -> int:
        return self.gross + self.discounts


def subscription_revenue(
    subscription: Subscription, prices: Sequence[PlanPrice], terms: Sequence[Term], start: date, end: date
) -> Earned:
    """What a subscription earns on the days [start, end).

    A comped one earns nothing, and nothing is earned before `trial_until`. A monthly price is spread over the days of each
    calendar month; one for several months over the days of its term, which is counted from the first paid day: the price and the
    coupons in force on a term's first day hold for it, and a pause does not interrupt it, as it is paid in advance. A monthly one
    earns nothing while paused. Coupons add up and never take more than the price. Raises InvalidInput where a plan's price is
    needed and none is in force.
    """
    if subscription.revenue_from == "lines" or subscription.comped:
        return Earned(0, 0)
    opened = max(subscription.starts_on, subscription.trial_until or subscription.starts_on)
    first, until = max(start, opened), end if subscription.ends_on is None else min(end, subscription.ends_on)
    if first >= until:
        return Earned(0, 0)
    if subscription.interval_months > 1:
        return _terms(subscription, prices, terms, opened, first, until)
    gross = discounts = 0
    for since, to in _cuts(first, until, prices, terms):
        if not any(term.kind == "pause" and term.covers(since) for term in terms):
            price = _price(subscription, prices, since)
            gross += earned(price, since, to)
            discounts -= earned(_off(price, 1, terms, since), since, to)
    return Earned(gross, discounts)


def months_later(day: date, months: int) -> date:
    """The same day of a later month; the last of that month where it has none."""
    number = day.year * 12 + day.month - 1 + months
    year, month = number // 12, number % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def _terms(
    subscription: Subscription,
    prices: Sequence[PlanPrice],
    terms: Sequence[Term],
    opened: date,
    first: date,
    until: date,
) -> Earned:
    gross = discounts = number = 0
    months = subscription.interval_months
    while (since := months_later(opened, number * months)) < until:
        to = months_later(opened, (number + 1) * months)
        number += 1
        if to <= first:
            continue
        price = _price(subscription, prices, since)
        off = _off(price, months, terms, since)
        done, before, days = (min(until, to) - since).days, (max(first, since) - since).days, (to - since).days
        gross += rounded(price * done, days) - rounded(price * before, days)
        discounts -= rounded(off * done, days) - rounded(off * before, days)
    return Earned(gross, discounts)


def term_start(subscription: Subscription, day: date) -> date:
    """First day of the term of `interval_months` that a day lies in; the subscription must have begun to be paid for by then."""
    opened = max(subscription.starts_on, subscription.trial_until or subscription.starts_on)
    number = 0
    while months_later(opened, (number + 1) * subscription.interval_months) <= day:
        number += 1
    return months_later(opened, number * subscription.interval_months)


def seat_price(subscription: Subscription, prices: Sequence[PlanPrice], day: date) -> int:
    """Price of one seat for `interval_months`, minor units, own or the plan's in force on a day. Raises InvalidInput where none is."""
    if subscription.revenue_from == "price":
        return subscription.monthly_price * subscription.interval_months
    fitting = [
        one for one in prices if one.interval_months == subscription.interval_months and one.effective_from <= day
    ]
    if not fitting:
        reason = f"no price for {subscription.interval_months} months is in force on {day.isoformat()}"
        raise InvalidInput("plan", subscription.plan, reason)
    return max(fitting, key=lambda one: one.effective_from).price


def _price(subscription: Subscription, prices: Sequence[PlanPrice], day: date) -> int:
    return seat_price(subscription, prices, day) * subscription.quantity


def _off(price: int, months: int, terms: Sequence[Term], day: date) -> int:
    """What the coupons of a day take off a price, minor units."""
    off = 0
    for term in terms:
        if term.kind == "coupon" and term.covers(day):
            if term.percent_off is not None:
                share = Fraction(term.percent_off) / 100
                off += rounded(price * share.numerator, share.denominator)
            else:
                off += (term.amount_off or 0) * months
    return off if off < price else price


def _cuts(first: date, until: date, prices: Sequence[PlanPrice], terms: Sequence[Term]) -> Iterator[tuple[date, date]]:
    """[first, until) cut where a price, a pause or a coupon begins or ends."""
    days = {one.effective_from for one in prices} | {
        day for term in terms for day in (term.starts_on, term.ends_on) if day
    }
    inner = sorted(day for day in days if first < day < until)
    yield from zip([first, *inner], [*inner, until], strict=True)
