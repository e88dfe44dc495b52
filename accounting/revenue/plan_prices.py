"""What does a plan cost from which day on, and what use does it include? Dated prices are written and read here."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects.postgresql import insert

from accounting.errors import InvalidInput
from accounting.money import format_plain, from_minor, to_minor
from accounting.revenue.plans import plan_keys
from accounting.revenue.price_terms import PlanPrice
from accounting.revenue.subscriptions import day_of, price_of, text_of, whole_of
from accounting.revenue.use import Allowance
from accounting.storage.engine import read_only, transaction
from accounting.storage.tables import plan_prices
from accounting.tenant import TenantContext

UNITS = ("requests", "tokens")
MOST_UNITS = 10**15


def put_plan_price(
    engine: Engine,
    context: TenantContext,
    plan: str,
    *,
    price: str | int | Decimal,
    effective_from: date | str,
    interval_months: int | str = 1,
    unit: str | None = None,
    included_units: int | str = 0,
    unit_price: str | int | Decimal | None = None,
    unit_per: int | str = 1,
) -> dict[str, Any]:
    """States a plan's price from a day on, or replaces the one of the same day and interval. Returns it as JSON.

    Args:
        price: currency units for `interval_months` of one seat.
        unit: requests | tokens, for a plan with an allowance; then `included_units` a calendar month are free and each
            `unit_per` beyond cost `unit_price`. None: nothing is metered.

    Raises InvalidInput for a value that can't be used and for a plan that does not exist.
    """
    row: dict[str, Any] = {
        "plan": text_of("plan", plan),
        "interval_months": whole_of("interval_months", interval_months, 120),
        "effective_from": day_of("effective_from", effective_from),
        "price": from_minor(price_of("price", price)),
        "billing_currency": context.billing_currency,
        "unit": unit,
        "included_units": None,
        "unit_price": None,
        "unit_per": None,
    }
    if unit is not None:
        row |= _metered(unit, row["interval_months"], included_units, unit_price, unit_per)
    elif unit_price is not None:
        raise InvalidInput("unit_price", str(unit_price), "needs a unit: requests or tokens")
    statement = insert(plan_prices).values(tenant=context.tenant, **row)
    key = ("tenant", "plan", "interval_months", "effective_from")
    replaced = {name: statement.excluded[name] for name in row if name not in key}
    with transaction(engine, context.tenant) as connection:
        if plan not in plan_keys(connection, context):
            raise InvalidInput("plan", plan, "no such plan of this tenant; make the plan first")
        connection.execute(statement.on_conflict_do_update(index_elements=key, set_=replaced))
    return _json(row)


def list_plan_prices(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """All dated prices by plan, interval and day, as JSON: amounts as decimal text, days as YYYY-MM-DD."""
    with read_only(engine, context.tenant) as connection:
        return [_json(row) for row in _rows(connection, context)]


def read_plan_prices(connection: Connection, context: TenantContext) -> dict[str, list[PlanPrice]]:
    """Plan -> its dated prices."""
    found: dict[str, list[PlanPrice]] = {}
    for row in _rows(connection, context):
        price = PlanPrice(row["effective_from"], row["interval_months"], to_minor(row["price"], "price"))
        found.setdefault(row["plan"], []).append(price)
    return found


def read_allowances(connection: Connection, context: TenantContext) -> dict[str, list[tuple[date, Allowance | None]]]:
    """Plan -> (day from which it holds, allowance) by day, of the plans that meter use at some time; None: metering ends.

    A monthly price says what is metered from its day on; one for several months says nothing of it.
    """
    found: dict[str, list[tuple[date, Allowance | None]]] = {}
    for row in _rows(connection, context):
        if row["interval_months"] == 1:
            found.setdefault(row["plan"], []).append((row["effective_from"], _allowance(row)))
    return {plan: dated for plan, dated in found.items() if any(allowance for _, allowance in dated)}


def _allowance(row: Any) -> Allowance | None:
    if row["unit"] is None:
        return None
    return Allowance(row["unit"], row["included_units"], to_minor(row["unit_price"], "unit_price"), row["unit_per"])


def _metered(
    unit: str, interval_months: int, included: int | str, price: str | int | Decimal | None, per: int | str
) -> dict[str, Any]:
    if unit not in UNITS:
        raise InvalidInput("unit", unit, f"one of {', '.join(UNITS)} is expected")
    if price is None:
        raise InvalidInput("unit_price", None, f"what {unit} beyond the allowance cost is not stated")
    if interval_months != 1:
        raise InvalidInput("interval_months", interval_months, "an allowance is for one month")
    return {
        "included_units": whole_of("included_units", included, MOST_UNITS, 0),
        "unit_price": from_minor(price_of("unit_price", price)),
        "unit_per": whole_of("unit_per", per, MOST_UNITS),
    }


def _rows(connection: Connection, context: TenantContext) -> list[Any]:
    table = plan_prices.c
    query = (
        select(plan_prices)
        .where(table.tenant == context.tenant)
        .order_by(table.plan, table.interval_months, table.effective_from)
    )
    return list(connection.execute(query).mappings())


def _json(row: Any) -> dict[str, Any]:
    unit_price = row["unit_price"]
    return {
        "plan": row["plan"],
        "interval_months": row["interval_months"],
        "effective_from": row["effective_from"].isoformat(),
        "price": format_plain(row["price"]),
        "billing_currency": row["billing_currency"],
        "unit": row["unit"],
        "included_units": row["included_units"],
        "unit_price": None if unit_price is None else format_plain(unit_price),
        "unit_per": row["unit_per"],
    }
