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

from accounting.revenue.lines import Owner, read_lines
from accounting.revenue.monthly import Subscription
from accounting.revenue.packs import drawn
from accounting.revenue.plan_prices import UNITS, read_allowances, read_plan_prices
from accounting.revenue.plans import running
from accounting.revenue.price_terms import PlanPrice, Term, subscription_revenue
from accounting.revenue.recognition import BY_USE, Line, earned_between
from accounting.revenue.terms import read_terms
from accounting.revenue.use import Dated, Metered, overages
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
    result += _overages(connection, context, found, start, end, owner)
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
    connection: Connection, context: TenantContext, lines: Sequence[Line], start: date, end: date
) -> Iterator[Revenue]:
    """Of prepaid packs, and of the refunds and discounts that refer to them; a pack without an owner has no use that is known."""
    zone = ZoneInfo(context.reporting_tz)
    packs = [line for line in lines if line.kind == "credits"]
    changes: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.kind != "credits":
            changes[line.refers_to or ""].append(line)
    owners: defaultdict[tuple[str, str, str], list[Line]] = defaultdict(list)
    for pack in packs:
        column = "user_id" if pack.user_id else "account_id"
        owners[column, pack.user_id or pack.account_id or "", pack.unit or ""].append(pack)
    if not owners:
        return
    first = min(pack.booked_at for pack in packs).astimezone(zone).date()
    for column in ("user_id", "account_id"):
        ids = sorted({owner for kind, owner, _ in owners if kind == column and owner})
        used = _used(connection, context, column, ids, first, end) if ids else {}
        for (kind, owner, unit), own in owners.items():
            if kind == column:
                usage, given = used.get((owner, unit), {}), [line for pack in own for line in changes[pack.line_id]]
                before, after = (drawn(own, usage, until, zone, given) for until in (start, end))
                for line in (*own, *given):
                    amount = after.get(line.line_id, 0) - before.get(line.line_id, 0)
                    if amount:
                        yield _revenue(line, amount)


def _overages(
    connection: Connection,
    context: TenantContext,
    found: Iterable[Subscription],
    start: date,
    end: date,
    owner: Owner | None,
) -> Iterator[Revenue]:
    allowances = read_allowances(connection, context)
    metered = [one for one in found if _is_metered(one, allowances)]
    if not metered:
        return
    users = {one.user_id for one in metered}
    first = start.replace(day=1)
    if first < start:  # One that ended earlier in the month has taken its part of the month's use.
        month = running(connection, context, first, end, owner)
        metered = [one for one in month if one.user_id in users and _is_metered(one, allowances)]
    used = _used(connection, context, "user_id", sorted(users), first, end)
    of_user: defaultdict[str, list[Subscription]] = defaultdict(list)
    for one in metered:
        of_user[one.user_id].append(one)
    for user, mine in of_user.items():
        usage = {unit: used.get((user, unit), {}) for unit in UNITS}
        amounts = overages([_metered(one, allowances) for one in mine], usage, start, end)
        for one in mine:
            if amount := amounts.get(one.subscription_id, 0):
                own = (one.billing_currency, one.user_id, one.account_id, one.plan, one.subscription_id)
                yield Revenue("usage", amount, *own)


def _is_metered(one: Subscription, allowances: Mapping[str, Dated]) -> bool:
    return one.plan in allowances and one.revenue_from != "lines" and not one.comped


def _metered(one: Subscription, allowances: Mapping[str, Dated]) -> Metered:
    opened = max(one.starts_on, one.trial_until or one.starts_on)
    return Metered(one.subscription_id, one.plan, opened, one.ends_on, allowances[one.plan], one.quantity)


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


def _revenue(line: Line, amount: int) -> Revenue:
    own = (line.billing_currency, line.user_id, line.account_id, line.plan, line.subscription_id, line.line_id)
    return Revenue(line.kind, amount, *own)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone)
