"""Who pays what, for which plan, from when until when? Plans and subscriptions are written, ended and listed here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput, NotFound
from accounting.money import format_plain, from_minor, to_minor
from accounting.revenue.lines import Owner
from accounting.revenue.monthly import Subscription
from accounting.revenue.subscriptions import day_of, make_subscription, price_of, text_of, to_json
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import plans, subscriptions
from accounting.tenant import TenantContext

__all__ = [
    "end_subscription",
    "list_plans",
    "list_subscriptions",
    "make_subscription",
    "plan_keys",
    "put_plan",
    "put_subscription",
    "running",
    "to_json",
    "write_subscriptions",
]


KINDS = ("flat", "per_seat", "usage", "credits", "free", "trial")


def put_plan(
    engine: Engine,
    context: TenantContext,
    plan: str,
    display_name: str | None = None,
    kind: str | None = None,
    acquisition_cost: str | int | Decimal | None = None,
) -> dict[str, Any]:
    """Makes a plan or changes what is given of it. Returns the plan as `list_plans` has it.

    Args:
        display_name: None: the key, or what it was.
        kind: one of KINDS; None: flat, or what it was.
        acquisition_cost: what winning one subscriber costs, currency units; None: not known, or what it was.
    """
    values = {"plan": text_of("plan", plan), "display_name": text_of("display_name", display_name or plan)}
    changed: dict[str, Any] = {"plan": values["plan"]}
    if display_name is not None:
        changed["display_name"] = values["display_name"]
    if kind is not None:
        if kind not in KINDS:
            raise InvalidInput("kind", kind, f"one of {', '.join(KINDS)} is expected")
        changed["kind"] = kind
    if acquisition_cost is not None:
        changed["acquisition_cost"] = from_minor(price_of("acquisition_cost", acquisition_cost))
    statement = insert(plans).values(tenant=context.tenant, **(values | changed))
    written = statement.on_conflict_do_update(index_elements=["tenant", "plan"], set_=changed).returning(plans)
    with transaction(engine, context.tenant) as connection:
        return _plan(connection.execute(written).one())


def list_plans(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """All plans of the tenant by key: {"plan", "display_name", "kind", "acquisition_cost"}, the cost as decimal text or None."""
    query = select(plans).where(plans.c.tenant == context.tenant).order_by(plans.c.plan)
    with read_only(engine, context.tenant) as connection:
        return [_plan(row) for row in connection.execute(query)]


def _plan(row: Any) -> dict[str, Any]:
    cost = row.acquisition_cost
    return {
        "plan": row.plan,
        "display_name": row.display_name,
        "kind": row.kind,
        "acquisition_cost": None if cost is None else format_plain(cost),
    }


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


def end_subscription(
    engine: Engine, context: TenantContext, subscription_id: str, ends_on: date | str
) -> dict[str, Any]:
    """Ends a subscription: `ends_on` is the first day that earns nothing. Raises NotFound and InvalidInput."""
    until = day_of("ends_on", ends_on)
    table = subscriptions.c
    mine = (table.tenant == context.tenant) & (table.subscription_id == subscription_id)
    with transaction(engine, context.tenant) as connection:
        row = connection.execute(select(subscriptions).where(mine).with_for_update()).one_or_none()
        if row is None:
            raise NotFound(f"subscription_id={subscription_id!r}: no such subscription of this tenant")
        if until <= row.starts_on:
            raise InvalidInput("ends_on", until.isoformat(), f"must be after starts_on {row.starts_on.isoformat()}")
        ended = connection.execute(
            update(subscriptions).where(mine).values(ends_on=until).returning(subscriptions)
        ).one()
    return to_json(_subscription(ended))


def list_subscriptions(
    engine: Engine, context: TenantContext, *, user_id: str | None = None, plan: str | None = None
) -> list[dict[str, Any]]:
    """Subscriptions of the tenant by id, of one user or one plan where asked; see `to_json` for the shape."""
    query = (
        select(subscriptions).where(subscriptions.c.tenant == context.tenant).order_by(subscriptions.c.subscription_id)
    )
    if user_id is not None:
        query = query.where(subscriptions.c.user_id == user_id)
    if plan is not None:
        query = query.where(subscriptions.c.plan == plan)
    with read_only(engine, context.tenant) as connection:
        return [to_json(_subscription(row)) for row in connection.execute(query)]


def running(
    connection: Connection, context: TenantContext, start: date, end: date, owner: Owner | None = None
) -> list[Subscription]:
    """Subscriptions that touch the days [start, end); of one user and of everybody of its accounts where an owner is named."""
    table = subscriptions.c
    touches = (table.starts_on < end) & (table.ends_on.is_(None) | (table.ends_on > start))
    query = select(subscriptions).where((table.tenant == context.tenant) & touches).order_by(table.subscription_id)
    if owner is not None:
        query = query.where((table.user_id == owner.user_id) | table.account_id.in_(owner.accounts))
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
        "quantity": subscription.quantity,
        "interval_months": subscription.interval_months,
        "comped": subscription.comped,
        "trial_until": subscription.trial_until,
        "revenue_from": subscription.revenue_from,
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
        quantity=row.quantity,
        interval_months=row.interval_months,
        comped=row.comped,
        trial_until=row.trial_until,
        revenue_from=row.revenue_from,
    )
