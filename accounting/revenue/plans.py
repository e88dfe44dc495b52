"""Who pays what, for which plan, from when until when? Plans and subscriptions are written, ended and listed here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput, NotFound
from accounting.money import MINOR_SCALE, format_minor, from_minor, to_minor
from accounting.revenue.recognise import Subscription
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import plans, subscriptions
from accounting.tenant import TenantContext

LONGEST = 256
DEAREST = 10**12
"""A monthly price stays below this many currency units."""
EARLIEST, LATEST = date(1970, 1, 1), date(2200, 1, 1)
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def put_plan(engine: Engine, context: TenantContext, plan: str, display_name: str | None = None) -> dict[str, Any]:
    """Makes a plan or renames it; `display_name` defaults to the key. Returns {"plan", "display_name"}."""
    row = {"plan": _text("plan", plan), "display_name": _text("display_name", plan if display_name is None else display_name)}
    statement = insert(plans).values(tenant=context.tenant, **row)
    renamed = statement.on_conflict_do_update(index_elements=["tenant", "plan"], set_={"display_name": row["display_name"]})
    with transaction(engine, context.tenant) as connection:
        connection.execute(renamed)
    return row


def list_plans(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """All plans of the tenant by key: {"plan", "display_name"}."""
    query = select(plans.c.plan, plans.c.display_name).where(plans.c.tenant == context.tenant).order_by(plans.c.plan)
    with read_only(engine, context.tenant) as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


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
) -> Subscription:
    """A checked subscription; nothing is stored.

    Args:
        monthly_price: currency units, exact, not negative, at most 15 decimals; a float is refused.
        starts_on, ends_on: reporting days, dates or YYYY-MM-DD, half-open; ends_on None: still running.
        billing_currency: None takes the tenant's; another one than the tenant's is refused, as no rate is known here.

    Raises InvalidInput, and MoneyError for the price, with the field and the value. Subscriptions of one user may overlap, in
    one plan too (two seats are two prices): revenue is their sum.
    """
    price = to_minor(monthly_price, "monthly_price")
    if not 0 <= price < DEAREST * 10**MINOR_SCALE:
        raise InvalidInput("monthly_price", str(monthly_price), f"must be from 0 to below {DEAREST}")
    currency = context.billing_currency if billing_currency is None else billing_currency
    if currency != context.billing_currency:
        raise InvalidInput("billing_currency", currency, f"the tenant books in {context.billing_currency}")
    first = _day("starts_on", starts_on)
    until = None if ends_on is None else _day("ends_on", ends_on)
    if until is not None and until <= first:
        raise InvalidInput("ends_on", until.isoformat(), f"must be after starts_on {first.isoformat()}")
    return Subscription(
        subscription_id=_text("subscription_id", subscription_id),
        plan=_text("plan", plan),
        user_id=_text("user_id", user_id),
        account_id=None if account_id is None else _text("account_id", account_id),
        monthly_price=price,
        billing_currency=currency,
        starts_on=first,
        ends_on=until,
    )


def put_subscription(engine: Engine, context: TenantContext, subscription: Subscription) -> dict[str, Any]:
    """Adds the subscription or replaces the one of the same id; raises InvalidInput for a plan that does not exist.

    A replaced price counts from its start, so a price that changes is two subscriptions: end one, add the next.
    """
    with transaction(engine, context.tenant) as connection:
        known = plan_keys(connection, context)
        if subscription.plan not in known:
            raise InvalidInput("plan", subscription.plan, "no such plan of this tenant; make the plan first")
        write_subscriptions(connection, context, [subscription])
    return to_json(subscription)


def end_subscription(engine: Engine, context: TenantContext, subscription_id: str, ends_on: date | str) -> dict[str, Any]:
    """Ends a subscription: `ends_on` is the first day that earns nothing. Raises NotFound and InvalidInput."""
    until = _day("ends_on", ends_on)
    table = subscriptions.c
    mine = (table.tenant == context.tenant) & (table.subscription_id == subscription_id)
    with transaction(engine, context.tenant) as connection:
        row = connection.execute(select(subscriptions).where(mine).with_for_update()).one_or_none()
        if row is None:
            raise NotFound(f"subscription_id={subscription_id!r}: no such subscription of this tenant")
        if until <= row.starts_on:
            raise InvalidInput("ends_on", until.isoformat(), f"must be after starts_on {row.starts_on.isoformat()}")
        ended = connection.execute(update(subscriptions).where(mine).values(ends_on=until).returning(subscriptions)).one()
    return to_json(_subscription(ended))


def list_subscriptions(
    engine: Engine, context: TenantContext, *, user_id: str | None = None, plan: str | None = None
) -> list[dict[str, Any]]:
    """Subscriptions of the tenant by id, of one user or one plan where asked; see `to_json` for the shape."""
    query = select(subscriptions).where(subscriptions.c.tenant == context.tenant).order_by(subscriptions.c.subscription_id)
    if user_id is not None:
        query = query.where(subscriptions.c.user_id == user_id)
    if plan is not None:
        query = query.where(subscriptions.c.plan == plan)
    with read_only(engine, context.tenant) as connection:
        return [to_json(_subscription(row)) for row in connection.execute(query)]


def running(connection: Connection, context: TenantContext, start: date, end: date) -> list[Subscription]:
    """Subscriptions that touch the days [start, end)."""
    table = subscriptions.c
    touches = (table.starts_on < end) & (table.ends_on.is_(None) | (table.ends_on > start))
    query = select(subscriptions).where((table.tenant == context.tenant) & touches).order_by(table.subscription_id)
    return [_subscription(row) for row in connection.execute(query)]


def plan_keys(connection: Connection, context: TenantContext) -> set[str]:
    """Keys of the tenant's plans."""
    return set(connection.execute(select(plans.c.plan).where(plans.c.tenant == context.tenant)).scalars())


def write_subscriptions(connection: Connection, context: TenantContext, rows: Sequence[Subscription]) -> None:
    """Adds or replaces checked subscriptions, ids distinct, in the caller's transaction; their plans must exist."""
    if not rows:
        return
    values = [_row(context, subscription) for subscription in rows]
    statement = insert(subscriptions)
    replaced = {name: statement.excluded[name] for name in values[0] if name not in ("tenant", "subscription_id")}
    key = ["tenant", "subscription_id"]
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=replaced), values)


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
    }


def _row(context: TenantContext, subscription: Subscription) -> dict[str, Any]:
    return {
        "tenant": context.tenant,
        "subscription_id": subscription.subscription_id,
        "plan": subscription.plan,
        "user_id": subscription.user_id,
        "account_id": subscription.account_id,
        "monthly_price": from_minor(subscription.monthly_price),
        "billing_currency": subscription.billing_currency,
        "starts_on": subscription.starts_on,
        "ends_on": subscription.ends_on,
    }


def _subscription(row: Any) -> Subscription:
    return Subscription(
        subscription_id=row.subscription_id,
        plan=row.plan,
        user_id=row.user_id,
        account_id=row.account_id,
        monthly_price=to_minor(row.monthly_price, "monthly_price"),
        billing_currency=row.billing_currency,
        starts_on=row.starts_on,
        ends_on=row.ends_on,
    )


def _text(field: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or "\0" in value:
        raise InvalidInput(field, value, f"a text of 1 to {LONGEST} characters is expected")
    return value


def _day(field: str, value: object) -> date:
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
