"""What was earned on the days of a period, from whom, for which plan? Subscriptions, invoice lines and use, in one list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT

from accounting.months import month_after
from accounting.revenue.lines import Owner, read_lines
from accounting.revenue.monthly import Subscription
from accounting.revenue.plan_prices import read_allowances, read_plan_prices
from accounting.revenue.plans import running
from accounting.revenue.price_terms import PlanPrice, Term, subscription_revenue
from accounting.revenue.recognition import BY_USE, Line, earned_between
from accounting.revenue.terms import read_terms
from accounting.revenue.use import Allowance, drawn, overage
from accounting.tenant import TenantContext

GROSS = ("subscription", "proration", "usage", "one_off", "credits")
USER_FACING = ("production", "free", "trial")
"""Purposes whose use counts against an allowance or a prepaid pack: users' own requests."""


@dataclass(frozen=True, slots=True)
class Revenue:
    """One amount earned in the period.

    Attributes:
        kind: of the line (recognition.Line); a payment_fee is a positive cost.
        amount: minor units, signed as revenue.
        user_id, account_id, plan, subscription_id: None: not known; without user and account it is an unmatched line.
        line_id: the invoice line; None: from a subscription.
    """

    kind: str
    amount: int
    billing_currency: str
    user_id: str | None
    account_id: str | None
    plan: str | None
    subscription_id: str | None = None
    line_id: str | None = None


def earned_revenue(
    connection: Connection,
    context: TenantContext,
    start: date,
    end: date,
    subscriptions: Sequence[Subscription] | None = None,
    owner: Owner | None = None,
) -> list[Revenue]:
    """Revenue of the reporting days [start, end). Every subscription that touches them has an entry, one that earns nothing of 0.

    Args:
        subscriptions: those that touch the days, where the caller has read them; None: read here.
        owner: whose lines are read; None: everybody's. The subscriptions are then the owner's.
    """
    found = running(connection, context, start, end) if subscriptions is None else subscriptions
    zone = ZoneInfo(context.reporting_tz)
    terms = read_terms(connection, context, None if owner is None else [one.subscription_id for one in found])
    result = list(_of_subscriptions(found, read_plan_prices(connection, context), terms, start, end))
    result += _overages(connection, context, found, start, end)
    lines = read_lines(connection, context, _midnight(start, zone), _midnight(end, zone), owner)
    result += _of_lines([line for line in lines if line.recognition not in BY_USE], start, end, zone)
    result += _of_packs(connection, context, [line for line in lines if line.recognition in BY_USE], start, end)
    return result


def _of_subscriptions(
    found: Iterable[Subscription],
    prices: Mapping[str, Sequence[PlanPrice]],
    terms: Mapping[str, Sequence[Term]],
    start: date,
    end: date,
) -> Iterator[Revenue]:
    for one in found:
        money = subscription_revenue(one, prices.get(one.plan, ()), terms.get(one.subscription_id, ()), start, end)
        own = (one.billing_currency, one.user_id, one.account_id, one.plan, one.subscription_id)
        yield Revenue("subscription", money.gross, *own)
        if money.discounts:
            yield Revenue("discount", money.discounts, *own)


def _of_lines(lines: Iterable[Line], start: date, end: date, zone: ZoneInfo) -> Iterator[Revenue]:
    since, until = _midnight(start, zone), _midnight(end, zone)
    for line in lines:
        amount = earned_between(line, since, until, zone)
        if amount:
            yield _revenue(line, amount)


def _of_packs(
    connection: Connection, context: TenantContext, packs: Sequence[Line], start: date, end: date
) -> Iterator[Revenue]:
    zone = ZoneInfo(context.reporting_tz)
    owners: defaultdict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for pack in packs:
        if pack.user_id or pack.account_id:
            column = "user_id" if pack.user_id else "account_id"
            owners[column, pack.user_id or pack.account_id or "", pack.unit or ""].append(pack)
        elif _ended(pack, start, end, zone):
            yield _revenue(pack, pack.amount)
    if not owners:
        return
    first = min(pack.booked_at for pack in packs).astimezone(zone).date()
    for column in ("user_id", "account_id"):
        ids = sorted({owner for kind, owner, _ in owners if kind == column})
        used = _used(connection, context, column, ids, first, end) if ids else {}
        for (kind, owner, unit), own in owners.items():
            if kind == column:
                usage = used.get((owner, unit), {})
                before, after = drawn(own, usage, start, zone), drawn(own, usage, end, zone)
                for pack in own:
                    if after[pack.line_id] != before[pack.line_id]:
                        yield _revenue(pack, after[pack.line_id] - before[pack.line_id])


def _overages(
    connection: Connection, context: TenantContext, found: Iterable[Subscription], start: date, end: date
) -> list[Revenue]:
    allowances = read_allowances(connection, context)
    metered = [one for one in found if one.plan in allowances and one.revenue_from != "lines" and not one.comped]
    if not metered:
        return []
    users = sorted({one.user_id for one in metered})
    used = _used(connection, context, "user_id", users, start.replace(day=1), end)
    result = []
    for one in metered:
        amount = sum(
            overage(allowance, used.get((one.user_id, allowance.unit), {}), since, until, _opened(one))
            for allowance, since, until in _months(one, allowances[one.plan], start, end)
        )
        own = (one.billing_currency, one.user_id, one.account_id, one.plan, one.subscription_id)
        result.append(Revenue("usage", amount, *own))
    return [revenue for revenue in result if revenue.amount]


def _months(
    one: Subscription, dated: Sequence[tuple[date, Allowance]], start: date, end: date
) -> Iterator[tuple[Allowance, date, date]]:
    """Calendar months of the subscription within [start, end), each with the allowance in force on its first day in the month."""
    since, last = max(start, _opened(one)), end if one.ends_on is None else min(end, one.ends_on)
    while since < last:
        following = month_after(since)
        first = max(since.replace(day=1), _opened(one))
        fitting = [allowance for day, allowance in dated if day <= first]
        if fitting:
            whole = fitting[-1]
            yield (
                Allowance(whole.unit, whole.included_units * one.quantity, whole.unit_price, whole.unit_per),
                since,
                min(following, last),
            )
        since = following


def _opened(one: Subscription) -> date:
    return max(one.starts_on, one.trial_until or one.starts_on)


_USED = """
    SELECT {column} AS owner, day, sum(events)::bigint AS requests,
           sum(uncached_input_tokens + cache_read_tokens + cache_write_tokens + output_tokens)::bigint AS tokens
    FROM rollup_user_day
    WHERE tenant = :tenant AND day >= :first AND day < :until AND {column} = ANY(:owners) AND purpose = ANY(:purposes)
    GROUP BY 1, 2
"""


def _used(
    connection: Connection, context: TenantContext, column: str, owners: Sequence[str], first: date, until: date
) -> Mapping[tuple[str, str], dict[date, int]]:
    """(owner, unit) -> units by day."""
    statement = text(_USED.format(column=column)).bindparams(
        bindparam("owners", type_=ARRAY(TEXT)), bindparam("purposes", type_=ARRAY(TEXT))
    )
    values: dict[str, Any] = {"tenant": context.tenant, "first": first, "until": until, "owners": list(owners)}
    found: defaultdict[tuple[str, str], dict[date, int]] = defaultdict(dict)
    for row in connection.execute(statement, values | {"purposes": list(USER_FACING)}):
        found[row.owner, "requests"][row.day] = row.requests
        found[row.owner, "tokens"][row.day] = row.tokens
    return found


def _ended(pack: Line, start: date, end: date, zone: ZoneInfo) -> bool:
    """Whether a pack without an owner, of which no use is known, lapsed in the period and is earned by then."""
    if pack.recognition != "use_and_breakage" or pack.ends_at is None:
        return False
    return start < pack.ends_at.astimezone(zone).date() <= end


def _revenue(line: Line, amount: int) -> Revenue:
    own = (line.billing_currency, line.user_id, line.account_id, line.plan, line.subscription_id, line.line_id)
    return Revenue(line.kind, amount, *own)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)
