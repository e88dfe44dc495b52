"""By how much does what a provider reports differ from what is calculated? In dollars, as providers report in them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Row

from accounting.errors import MissingRate
from accounting.ledger.held import Held
from accounting.money import format_plain
from accounting.pricing.currency import Rate
from accounting.storage.fx_rates import read_rates
from accounting.tenant import TenantContext

REPORTED_IN = "USD"


def variance(connection: Connection, context: TenantContext, row: Row[Any], found: Held) -> dict[str, Any]:
    """What stands on the charge of an event whose body states a cost; nothing for one whose body does not.

    `variance_usd` is reported less calculated, None where nothing was calculated. What was calculated in another currency is converted
    at the rate of the event's reporting day, which is then told as `variance_rate`; where there is none, `variance_usd` is None and
    `variance_reason` says so.
    """
    if row.reported_cost_usd is None:
        return {}
    reported = Decimal(row.reported_cost_usd)
    told: dict[str, Any] = {"reported_cost_usd": format_plain(reported), "variance_usd": None}
    calculated = found.costs["list_cost"]
    if found.sku_price_id is None or calculated is None:
        return told
    if found.billing_currency != REPORTED_IN:
        try:
            rate = _rate(connection, context, row, found.billing_currency)
        except MissingRate as missing:
            return told | {"variance_reason": str(missing)}
        calculated = rate.convert(calculated)
        told["variance_rate"] = rate.described()
    return told | {"variance_usd": format_plain(reported - calculated)}


def _rate(connection: Connection, context: TenantContext, row: Row[Any], currency: str) -> Rate:
    day = row.occurred_at.astimezone(ZoneInfo(context.reporting_tz)).date()
    table = read_rates(connection, (currency, REPORTED_IN), day, day)
    return table.rate(currency, REPORTED_IN, day)
