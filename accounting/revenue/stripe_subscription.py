"""Which subscription of ours is one of Stripe's? Its revenue comes from invoice lines; here is who uses which plan on which days."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from accounting.errors import InvalidInput
from accounting.revenue.monthly import Subscription
from accounting.revenue.stripe_amounts import stripe_currency
from accounting.revenue.stripe_fields import Skipped
from accounting.revenue.subscriptions import make_subscription
from accounting.tenant import TenantContext

Object = Mapping[str, Any]
_MONTHS = {"month": 1, "year": 12}
_NEVER_PAID = ("incomplete", "incomplete_expired")


def make_stripe_subscription(
    context: TenantContext, one: Object, plans: Collection[str], users: Mapping[str, str]
) -> Subscription:
    """The subscription of a Stripe subscription with one item.

    The plan is `metadata.plan` of the subscription or its price, else the price's lookup_key, nickname, product or id that is the key
    of a plan; the user is `metadata.user_id`, else that of its customer.

    Args:
        plans: keys of the tenant's plans. users: customer -> user.

    Raises Skipped for one that never began, InvalidInput where plan, user or item can't be told.
    """
    if one.get("status") in _NEVER_PAID:
        raise Skipped(f"{one['status']} subscription")
    items = (one.get("items") or {}).get("data") or []
    if len(items) != 1:
        raise InvalidInput("items", len(items), f"{one.get('id')}: exactly one item is read")
    item = items[0]
    price = item.get("price") or item.get("plan") or {}
    metadata = one.get("metadata") or {}
    customer = one.get("customer")
    customer = customer.get("id") if isinstance(customer, Mapping) else customer
    user = metadata.get("user_id") or users.get(customer or "")
    if not user:
        raise InvalidInput("user_id", None, f"{one.get('id')}: neither its metadata nor its customer names a user")
    stated = stripe_currency(one.get("currency") or price.get("currency"))
    if stated != context.billing_currency:
        raise InvalidInput("currency", stated, f"the tenant books in {context.billing_currency}")
    trial, ended = one.get("trial_end"), one.get("ended_at")
    started = _day(context, "start_date", one.get("start_date") or one.get("created"))
    until = None if ended is None else _day(context, "ended_at", ended)
    if until is not None and until <= started:
        raise Skipped("subscription that ended on its first day")
    return make_subscription(
        context,
        one["id"],
        plan=_plan(one, price, plans),
        user_id=user,
        account_id=metadata.get("account_id"),
        monthly_price=0,
        starts_on=started,
        ends_on=until,
        quantity=item.get("quantity") or 1,
        interval_months=_interval(price),
        trial_until=None if trial is None else max(_day(context, "trial_end", trial), started),
        revenue_from="lines",
    )


def _plan(one: Object, price: Object, plans: Collection[str]) -> str:
    names = [(one.get("metadata") or {}).get("plan"), (price.get("metadata") or {}).get("plan")]
    names += [price.get(name) for name in ("lookup_key", "nickname", "product", "id")]
    found = next((name for name in names if isinstance(name, str) and name in plans), None)
    if found is None:
        shown = ", ".join(str(name) for name in names if name) or "nothing"
        raise InvalidInput(
            "plan", shown, f"{one.get('id')}: none of these is a plan of this tenant; make the plan first"
        )
    return found


def _interval(price: Object) -> int:
    recurring = price.get("recurring") or price
    count, interval = recurring.get("interval_count") or 1, recurring.get("interval")
    if interval not in _MONTHS:
        return 1
    months: int = _MONTHS[interval] * count
    return months


def _day(context: TenantContext, field: str, value: object) -> date:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(field, value, "a moment in whole seconds since 1970 is expected")
    return datetime.fromtimestamp(value, UTC).astimezone(ZoneInfo(context.reporting_tz)).date()
