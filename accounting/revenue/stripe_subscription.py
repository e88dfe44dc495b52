"""Which subscription of ours is one of Stripe's? Its revenue comes from invoice lines; here is who uses which plan on which days."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime
from zoneinfo import ZoneInfo

from accounting.errors import InvalidInput
from accounting.revenue.monthly import Subscription
from accounting.revenue.stripe_amounts import stripe_currency
from accounting.revenue.stripe_fields import (
    Object,
    Skipped,
    complete,
    first_moment,
    id_of,
    map_of,
    moment,
    reference,
    told,
)
from accounting.revenue.subscriptions import make_subscription, whole_of
from accounting.tenant import TenantContext

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
    items = complete(one, "items")
    if len(items) != 1:
        raise InvalidInput("items", len(items), f"{id_of(one)}: exactly one item is read")
    item = items[0]
    price = map_of(item, "price") or map_of(item, "plan")
    user = told(one, "user_id") or users.get(reference(one, "customer") or "")
    if not user:
        raise InvalidInput("user_id", None, f"{id_of(one)}: neither its metadata nor its customer names a user")
    stated = stripe_currency(one.get("currency") or price.get("currency"))
    if stated != context.billing_currency:
        raise InvalidInput("currency", stated, f"the tenant books in {context.billing_currency}")
    started = _day(context, first_moment((one, "start_date"), (one, "created")))
    until, paid_from = (_day_or_none(context, one, name) for name in ("ended_at", "trial_end"))
    if until is not None and until < started:
        raise InvalidInput("ended_at", one["ended_at"], f"{id_of(one)} starts on {started}")
    if until == started:
        raise Skipped("subscription that ended on its first day")
    quantity = item.get("quantity")
    return make_subscription(
        context,
        id_of(one),
        plan=_plan(one, price, plans),
        user_id=user,
        account_id=told(one, "account_id"),
        monthly_price=0,
        starts_on=started,
        ends_on=until,
        quantity=1 if quantity is None else quantity,  # metered prices have none
        interval_months=_interval(price),
        trial_until=paid_from,
        revenue_from="lines",
    )


def _plan(one: Object, price: Object, plans: Collection[str]) -> str:
    names = [told(one, "plan"), told(price, "plan")]
    names += [price.get(name) for name in ("lookup_key", "nickname", "product", "id")]
    found = next((name for name in names if isinstance(name, str) and name in plans), None)
    if found is None:
        shown = ", ".join(str(name) for name in names if name) or "nothing"
        raise InvalidInput("plan", shown, f"{id_of(one)}: none of these is a plan of this tenant; make the plan first")
    return found


def _interval(price: Object) -> int:
    recurring = map_of(price, "recurring") or price
    interval, count = recurring.get("interval"), recurring.get("interval_count")
    if interval is None:
        return 1
    if not isinstance(interval, str) or interval not in _MONTHS:
        raise InvalidInput("interval", interval, "a price for months or years is expected")
    return _MONTHS[interval] * (1 if count is None else whole_of("interval_count", count, 120))


def _day_or_none(context: TenantContext, one: Object, name: str) -> date | None:
    return None if one.get(name) is None else _day(context, moment(name, one[name]))


def _day(context: TenantContext, at: datetime) -> date:
    return at.astimezone(ZoneInfo(context.reporting_tz)).date()
