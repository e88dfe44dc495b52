"""Which subscriptions can there be? Every field is checked before anything is stored."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

from accounting.errors import InvalidInput
from accounting.money import MINOR_SCALE, format_minor, to_minor
from accounting.revenue.monthly import Subscription
from accounting.tenant import TenantContext

LONGEST = 256
DEAREST = 10**12
"""A monthly price stays below this many currency units."""
EARLIEST, LATEST = date(1970, 1, 1), date(2200, 1, 1)
REVENUE_FROM = ("price", "plan", "lines")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def make_subscription(
    context: TenantContext,
    subscription_id: str,
    *,
    plan: str,
    user_id: str,
    monthly_price: str | int | Decimal,
    starts_on: date | str,
    ends_on: date | str | None = None,
    account_id: str | None = None,
    billing_currency: str | None = None,
    quantity: int | str = 1,
    interval_months: int | str = 1,
    comped: bool = False,
    trial_until: date | str | None = None,
    revenue_from: str = "price",
) -> Subscription:
    """A checked subscription; nothing is stored.

    Args:
        monthly_price: currency units, exact, not negative, at most 15 decimals; a float is refused.
        starts_on, ends_on: reporting days, dates or YYYY-MM-DD, half-open; ends_on None: still running.
        billing_currency: None takes the tenant's; another one than the tenant's is refused, as no rate is known here.
        quantity: seats, each at the price. interval_months: months paid at once. comped: used, never paid.
        trial_until: first day that is paid for; None: the first day is.
        revenue_from: price | plan (its dated price; monthly_price is not used) | lines (imported invoice lines alone).

    Raises InvalidInput, and MoneyError for the price, with the field and the value. Subscriptions of one user may overlap, in
    one plan too (two seats are two prices): revenue is their sum.
    """
    price = price_of("monthly_price", monthly_price)
    currency = context.billing_currency if billing_currency is None else billing_currency
    if currency != context.billing_currency:
        raise InvalidInput("billing_currency", currency, f"the tenant books in {context.billing_currency}")
    first = day_of("starts_on", starts_on)
    until = None if ends_on is None else day_of("ends_on", ends_on)
    if until is not None and until <= first:
        raise InvalidInput("ends_on", until.isoformat(), f"must be after starts_on {first.isoformat()}")
    paid_from = None if trial_until is None else day_of("trial_until", trial_until)
    if paid_from is not None and paid_from < first:
        raise InvalidInput("trial_until", paid_from.isoformat(), f"must not be before starts_on {first.isoformat()}")
    if revenue_from not in REVENUE_FROM:
        raise InvalidInput("revenue_from", revenue_from, f"one of {', '.join(REVENUE_FROM)} is expected")
    if not isinstance(comped, bool):
        raise InvalidInput("comped", comped, "true or false is expected")
    return Subscription(
        subscription_id=text_of("subscription_id", subscription_id),
        plan=text_of("plan", plan),
        user_id=text_of("user_id", user_id),
        account_id=None if account_id is None else text_of("account_id", account_id),
        monthly_price=price,
        billing_currency=currency,
        starts_on=first,
        ends_on=until,
        quantity=whole_of("quantity", quantity, 1_000_000),
        interval_months=whole_of("interval_months", interval_months, 120),
        comped=comped,
        trial_until=paid_from,
        revenue_from=revenue_from,
    )


def to_json(subscription: Subscription) -> dict[str, Any]:
    """A subscription as JSON: the price as a plain decimal string, days as YYYY-MM-DD."""
    return {
        "subscription_id": subscription.subscription_id,
        "plan": subscription.plan,
        "user_id": subscription.user_id,
        "account_id": subscription.account_id,
        "monthly_price": format_minor(subscription.monthly_price),
        "billing_currency": subscription.billing_currency,
        "starts_on": subscription.starts_on.isoformat(),
        "ends_on": None if subscription.ends_on is None else subscription.ends_on.isoformat(),
        "quantity": subscription.quantity,
        "interval_months": subscription.interval_months,
        "comped": subscription.comped,
        "trial_until": None if subscription.trial_until is None else subscription.trial_until.isoformat(),
        "revenue_from": subscription.revenue_from,
    }


def price_of(field: str, value: str | int | Decimal) -> int:
    """Minor units of a price that is not negative; raises MoneyError or InvalidInput for anything else."""
    price = to_minor(value, field)
    if not 0 <= price < DEAREST * 10**MINOR_SCALE:
        raise InvalidInput(field, str(value), f"must be from 0 to below {DEAREST}")
    return price


def text_of(field: str, value: object) -> str:
    """A key or a name as given; raises InvalidInput where it is empty, too long or no text."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or "\0" in value:
        raise InvalidInput(field, value, f"a text of 1 to {LONGEST} characters is expected")
    return value


def day_of(field: str, value: object) -> date:
    """A day, given as one or as YYYY-MM-DD; raises InvalidInput for anything else."""
    day = value
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            day = date.fromisoformat(value)
        except ValueError as error:
            raise InvalidInput(field, value, str(error)) from None
    if type(day) is not date:
        raise InvalidInput(field, value, "a day as YYYY-MM-DD is expected")
    if not EARLIEST <= day < LATEST:
        raise InvalidInput(field, day.isoformat(), f"a day from {EARLIEST} to before {LATEST} is expected")
    return day


def whole_of(field: str, value: object, most: int, least: int = 1) -> int:
    """A whole number from `least` to `most`, given as one or as its digits; raises InvalidInput for anything else."""
    number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) else value
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise InvalidInput(field, value, f"a whole number from {least} to {most} is expected")
    return number
