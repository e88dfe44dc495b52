"""By how much does what a provider reports differ from what is calculated? In dollars, as providers report in them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Row

from accounting.errors import MissingRate
from accounting.money import format_plain, from_minor
from accounting.pricing.currency import Rate
from accounting.storage.fx_rates import read_rates
from accounting.tenant import TenantContext

REPORTED_IN = "USD"


def variance(connection: Connection, context: TenantContext, row: Row[Any]) -> dict[str, Any]:
    """What stands on the charge of an event whose body states a cost; nothing for one whose body does not.

    `variance_usd` is reported less calculated, None where nothing was calculated. What was calculated in another currency is converted
    at the rate of the event's reporting day, which is then told as `variance_rate`; where there is none, `variance_usd` is None and
    `variance_reason` says so.
    """
    if row.reported_cost_usd is None:
        return {}
    reported = Decimal(row.reported_cost_usd)
    told: dict[str, Any] = {"reported_cost_usd": format_plain(reported), "variance_usd": None}
    if row.sku_price_id is None or row.list_cost_e15 is None:
        return told
    calculated = from_minor(row.list_cost_e15)
    if row.billing_currency != REPORTED_IN:
        try:
            rate = _rate(connection, context, row)
        except MissingRate as missing:
            return told | {"variance_reason": str(missing)}
        calculated = rate.convert(calculated)
        told["variance_rate"] = rate.described()
    return told | {"variance_usd": format_plain(reported - calculated)}


def _rate(connection: Connection, context: TenantContext, row: Row[Any]) -> Rate:
    day = row.occurred_at.astimezone(ZoneInfo(context.reporting_tz)).date()
    table = read_rates(connection, (row.billing_currency, REPORTED_IN), day, day)
    return table.rate(row.billing_currency, REPORTED_IN, day)
