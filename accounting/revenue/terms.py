"""When is a subscription paused or discounted? Pauses and coupons are written and read here."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput, NotFound
from accounting.money import format_plain, from_minor, parse_amount, to_minor
from accounting.revenue.price_terms import Term
from accounting.revenue.subscriptions import day_of, price_of, text_of
from accounting.storage.engine import transaction
from accounting.storage.tables import subscription_terms, subscriptions
from accounting.tenant import TenantContext

KINDS = ("pause", "coupon")


def put_term(
    engine: Engine,
    context: TenantContext,
    subscription_id: str,
    term_id: str,
    *,
    kind: str,
    starts_on: date | str,
    ends_on: date | str | None = None,
    percent_off: str | int | Decimal | None = None,
    amount_off: str | int | Decimal | None = None,
) -> dict[str, Any]:
    """Adds a pause or a coupon to a subscription, or replaces the one of the same `term_id`. Returns it as JSON.

    A coupon takes either `percent_off` the price, or `amount_off` a month's price in currency units. Raises InvalidInput for a value
    that can't be used, NotFound where the subscription does not exist.
    """
    first = day_of("starts_on", starts_on)
    until = None if ends_on is None else day_of("ends_on", ends_on)
    if until is not None and until <= first:
        raise InvalidInput("ends_on", until.isoformat(), f"must be after starts_on {first.isoformat()}")
    row: dict[str, Any] = {
        "subscription_id": text_of("subscription_id", subscription_id),
        "term_id": text_of("term_id", term_id),
        "kind": kind,
        "starts_on": first,
        "ends_on": until,
        **_off(kind, percent_off, amount_off),
    }
    statement = insert(subscription_terms).values(tenant=context.tenant, **row)
    key = ("tenant", "subscription_id", "term_id")
    replaced = {name: statement.excluded[name] for name in row if name not in key}
    mine = (subscriptions.c.tenant == context.tenant) & (subscriptions.c.subscription_id == subscription_id)
    with transaction(engine, context.tenant) as connection:
        if connection.execute(select(subscriptions.c.plan).where(mine)).one_or_none() is None:
            raise NotFound(f"subscription_id={subscription_id!r}: no such subscription of this tenant")
        connection.execute(statement.on_conflict_do_update(index_elements=key, set_=replaced))
    return _json(row)


def read_terms(
    connection: Connection, context: TenantContext, subscription_ids: Collection[str] | None = None
) -> dict[str, list[Term]]:
    """Subscription -> its pauses and coupons; of these subscriptions, None: of all."""
    table = subscription_terms.c
    query = (
        select(subscription_terms).where(table.tenant == context.tenant).order_by(table.subscription_id, table.term_id)
    )
    if subscription_ids is not None:
        query = query.where(table.subscription_id.in_(subscription_ids))
    found: dict[str, list[Term]] = {}
    for row in connection.execute(query):
        amount = None if row.amount_off is None else to_minor(row.amount_off, "amount_off")
        term = Term(row.kind, row.starts_on, row.ends_on, row.percent_off, amount)
        found.setdefault(row.subscription_id, []).append(term)
    return found


def _off(kind: str, percent: str | int | Decimal | None, amount: str | int | Decimal | None) -> dict[str, Any]:
    if kind not in KINDS:
        raise InvalidInput("kind", kind, f"one of {', '.join(KINDS)} is expected")
    if kind == "pause":
        if percent is not None or amount is not None:
            raise InvalidInput("percent_off", str(percent or amount), "a pause takes nothing off; make it a coupon")
        return {"percent_off": None, "amount_off": None}
    if (percent is None) == (amount is None):
        raise InvalidInput("percent_off", percent, "a coupon needs either percent_off or amount_off")
    if percent is None:
        assert amount is not None
        return {"percent_off": None, "amount_off": from_minor(price_of("amount_off", amount))}
    share = parse_amount(percent, "percent_off")
    if not 0 < share <= 100 or share != round(share, 6):
        raise InvalidInput("percent_off", str(percent), "above 0, at most 100, with at most 6 decimals is expected")
    return {"percent_off": share, "amount_off": None}


def _json(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _written(value) for name, value in row.items()}


def _written(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format_plain(value)
    return value.isoformat() if isinstance(value, date) else value
