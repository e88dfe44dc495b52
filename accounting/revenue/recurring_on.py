"""How much revenue of each plan comes back every month, as its subscriptions stand on a day? List prices, before coupons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from accounting.revenue.lines import read_lines
from accounting.revenue.monthly import Subscription
from accounting.revenue.plan_prices import read_plan_prices
from accounting.revenue.price_terms import seat_price, term_start
from accounting.revenue.recognition import Line
from accounting.revenue.recurring import Recurring, monthly_recurring
from accounting.revenue.terms import read_terms
from accounting.tenant import TenantContext

PlanCurrency = tuple[str, str]


def recurring_on(
    connection: Connection, context: TenantContext, subscriptions: Iterable[Subscription], day: date
) -> dict[PlanCurrency, int | None]:
    """(plan, currency) -> minor units a month; None where what a subscription pays is not known.

    Counted are subscriptions that run, are paid for and are not paused on the reporting day; a comped one counts nothing. Who is billed by
    invoice lines alone pays what the lines of kind subscription, whose service period has the day, say.
    """
    prices, terms = read_plan_prices(connection, context), read_terms(connection, context)
    found: defaultdict[PlanCurrency, list[Recurring | None]] = defaultdict(list)
    billed = _billed(connection, context, day)
    for one in subscriptions:
        key = one.plan, one.billing_currency
        paused = any(term.kind == "pause" and term.covers(day) for term in terms.get(one.subscription_id, ()))
        found[key] += []
        if paused or not _paid(one, day):
            continue
        if one.comped:
            found[key].append(Recurring(one.plan, 0, 1, one.quantity, one.quantity))
        elif one.revenue_from == "lines":
            amount = billed.get((one.subscription_id, one.billing_currency))
            found[key].append(None if amount is None else Recurring(one.plan, amount, one.interval_months, 1))
        else:
            price = seat_price(one, prices.get(one.plan, ()), term_start(one, day) if one.interval_months > 1 else day)
            found[key].append(Recurring(one.plan, price, one.interval_months, one.quantity))
    return {key: _sum(key[0], rows) for key, rows in found.items()}


def _paid(one: Subscription, day: date) -> bool:
    opened = max(one.starts_on, one.trial_until or one.starts_on)
    return opened <= day and (one.ends_on is None or day < one.ends_on)


def _sum(plan: str, rows: list[Recurring | None]) -> int | None:
    known = [row for row in rows if row is not None]
    return monthly_recurring(known).get(plan, 0) if len(known) == len(rows) else None


def _billed(connection: Connection, context: TenantContext, day: date) -> dict[tuple[str, str], int]:
    """(subscription, currency) -> what its lines bill for the period that has the day, minor units."""
    zone = ZoneInfo(context.reporting_tz)
    start, end = (datetime(at.year, at.month, at.day, tzinfo=zone) for at in (day, day + timedelta(days=1)))
    found: defaultdict[tuple[str, str], int] = defaultdict(int)
    for line in read_lines(connection, context, start, end):
        if line.kind == "subscription" and line.subscription_id and _serves(line, day, zone):
            found[line.subscription_id, line.billing_currency] += line.amount
    return dict(found)


def _serves(line: Line, day: date, zone: ZoneInfo) -> bool:
    if line.starts_at is None or line.ends_at is None:
        return False
    return line.starts_at.astimezone(zone).date() <= day < line.ends_at.astimezone(zone).date()
