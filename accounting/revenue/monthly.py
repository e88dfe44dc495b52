"""How much of a monthly price is earned on which days? Evenly over the days of each calendar month, exact to the last digit."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from accounting.errors import InvalidInput
from accounting.revenue.recognition import rounded


@dataclass(frozen=True)
class Subscription:
    """One user's use of one plan at one monthly price.

    Attributes:
        subscription_id: key within the tenant.
        plan: key of the plan.
        user_id: who uses it.
        account_id: who pays, where that is someone else; None: not known or the user.
        monthly_price: minor units (10^-15 currency units) for each calendar month; 0 for a free plan.
        billing_currency: ISO 4217.
        starts_on, ends_on: days of the tenant's reporting zone, half-open; ends_on None: still running.
        quantity: seats; the price is for one.
        interval_months: months that are paid at once; monthly_price stays the price of one month.
        comped: given away: used, never paid.
        trial_until: first day that is paid for; None: the first day is.
        revenue_from: price (monthly_price) | plan (the plan's dated price) | lines (imported invoice lines alone).
    """

    subscription_id: str
    plan: str
    user_id: str
    account_id: str | None
    monthly_price: int
    billing_currency: str
    starts_on: date
    ends_on: date | None
    quantity: int = 1
    interval_months: int = 1
    comped: bool = False
    trial_until: date | None = None
    revenue_from: str = "price"


@lru_cache(maxsize=4096, typed=True)  # a million subscriptions have a few prices and days
def earned(monthly_price: int, start: date, end: date) -> int:
    """Revenue of the days [start, end) at a monthly price, both in minor units.

    Day k of a month of n days has earned k/n of the price since the first, rounded half to even; a day earns the difference to
    the day before (cumulative rounding). So a whole month earns the price exactly, twelve months twelve prices, and any cut of
    a range into parts adds up to the range. Refuses an end before the start, and any price that is not a whole number.
    """
    if isinstance(monthly_price, bool) or not isinstance(monthly_price, int):
        raise InvalidInput("monthly_price", monthly_price, "a whole number of minor units is expected, never a float")
    if end < start:
        raise InvalidInput("end", end.isoformat(), f"is before the start {start.isoformat()}")
    total = 0
    for first, until in _months(start, end):
        days = monthrange(first.year, first.month)[1]
        done = days if until.month != first.month else until.day - 1
        total += rounded(monthly_price * done, days) - rounded(monthly_price * (first.day - 1), days)
    return total


def _months(start: date, end: date) -> Iterator[tuple[date, date]]:
    """[start, end) cut at the first of each month."""
    while start < end:
        following = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
        yield start, min(end, following)
        start = following
