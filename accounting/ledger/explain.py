"""Why did this event cost that? The whole derivation, line by line, from what is stored: names, price rows, quantities, later lines.

Nothing is rated again: the price rows are those that made the charge, whatever the price book says today.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, Row, text

from accounting.errors import NotFound
from accounting.ledger.explain_pool import explain_pools
from accounting.ledger.held import COSTS, Held, held
from accounting.ledger.newest import newest_row
from accounting.ledger.read import Prices, components_of, prices_of, stated
from accounting.money import format_minor, format_plain
from accounting.pricing.leaves import INPUT_COLUMNS
from accounting.pricing.tariff import format_sku
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

_ROW = text("SELECT * FROM tariffs WHERE sku_price_id = :sku")
# Who stated the row first, and since when it is known.
_RECORD = text(
    "SELECT source, source_version, checked_on, created_by, approved_by, recorded_at FROM tariff_records "
    "WHERE sku_price_id = :sku AND state = 'stated' ORDER BY recorded_at, record_id LIMIT 1"
)
_SETTLED = text(
    """
    SELECT subject_id, policy, reason, category, charge_period_start, sum(list_cost) AS list_cost,
           sum(contracted_cost) AS contracted_cost, sum(effective_cost) AS effective_cost, sum(billed_cost) AS billed_cost
    FROM charges
    WHERE tenant = :tenant AND subject_kind = 'contract_month' AND seller = :seller AND model = :model AND purpose = :purpose
      AND user_id IS NOT DISTINCT FROM :user_id AND account_id IS NOT DISTINCT FROM :account_id
      AND charge_period_start = greatest(
        date_trunc('day', CAST(:at AS timestamptz) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC',
        date_trunc('day', CAST(:at AS timestamptz) AT TIME ZONE :tz) AT TIME ZONE :tz)
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 3
    """
)
_DATE = re.compile(r"-[0-9]{4}-?[0-9]{2}-?[0-9]{2}$")
_LOGGED = (
    "provider",
    "surface",
    "model",
    "response_model",
    "region",
    "service_tier",
    "requested_service_tier",
    "batch",
    "status",
    "user_id",
    "account_id",
    "purpose",
    "feature",
    "deployment",
)


def explain(engine: Engine, context: TenantContext, event_id: str) -> dict[str, Any]:
    """The derivation of an event's cost as JSON; amounts are plain decimals, unknown is None. Raises NotFound.

    Keys: event (as logged), outcome (status, reason, basis, currency and the four costs, corrections included), matched (names),
    conditions (what decided among the model's rows), list_price and contracted_price (the price rows), components (a class each:
    quantity times list and contracted price), lines (of the ledger, oldest first), settlement (what contracts made of the whole
    day of this user and model, of which the event is a part), pools and estimate (explain_pool.py).
    """
    with read_only(engine, context.tenant) as connection:
        row = newest_row(connection, context.tenant, event_id)
        if row is None:
            raise NotFound(f"event_id={event_id!r}: no such event")
        found = held(connection, context.tenant, row)
        paid = _price_row(connection, found.sku_price_id)
        listed = (
            paid if found.list_sku_price_id == found.sku_price_id else _price_row(connection, found.list_sku_price_id)
        )
        prices = prices_of(connection, found.sku_price_id)
        list_prices = prices_of(connection, found.list_sku_price_id)
        settled = connection.execute(_SETTLED, _group(context, row, found)).all()
        hosted = explain_pools(connection, context, row, found.later, found.status)
    return {
        "event": {
            "event_id": row.event_id,
            "revision": row.revision,
            "occurred_at": _text(row.occurred_at),
            "received_at": _text(row.received_at),
            **{name: getattr(row, name) for name in _LOGGED},
        },
        "outcome": {
            "status": found.status,
            "reason": None if found.status == "priced" else found.reason,
            "basis": found.basis if found.basis != "reversal" else row.basis,
            "billing_currency": found.billing_currency,
            **{name: _amount(found.costs[name]) for name in COSTS},
            "reported_cost_usd": _amount(row.reported_cost_usd),
        },
        "matched": _matched(row, found, paid),
        "conditions": _conditions(row, paid),
        "list_price": listed,
        "contracted_price": paid,
        "components": _components(row, prices, list_prices),
        "lines": [_first_line(row), *(_line(line) for line in found.later)],
        "settlement": [_settled(line) for line in settled],
        **hosted,
    }


def _group(context: TenantContext, row: Row[Any], found: Held) -> dict[str, Any]:
    return {
        "tenant": context.tenant,
        "tz": context.reporting_tz,
        "at": row.occurred_at,
        "seller": found.seller,
        "model": row.response_model or row.model,
        "purpose": row.purpose,
        "user_id": row.user_id,
        "account_id": row.account_id,
    }


def _price_row(connection: Connection, sku: int | None) -> dict[str, Any] | None:
    """A price row with its conditions, its dates, and who stated it; None where there is none."""
    row = None if sku is None else connection.execute(_ROW, {"sku": sku}).one_or_none()
    if sku is None or row is None:
        return None
    record = connection.execute(_RECORD, {"sku": sku}).one_or_none() or row
    return {
        "sku_price_id": format_sku(sku),
        "layer": "list" if row.tenant is None else "contract",
        "derived_from": None if row.derived_from is None else format_sku(row.derived_from),
        **{name: getattr(row, name) for name in ("seller", "model", "service_tier", "surface", "region", "currency")},
        "above_tokens": row.above_input_tokens or None,
        "operator": row.operator if row.above_input_tokens else None,
        "decided_by": row.decided_by if row.above_input_tokens else None,
        **{
            name: _text(getattr(row, name))
            for name in ("window_start", "window_end", "effective_from", "effective_until")
        },
        "source": record.source,
        "source_version": record.source_version,
        "checked_on": _text(record.checked_on),
        "recorded_at": _text(record.recorded_at),
        "created_by": getattr(record, "created_by", None),
        "approved_by": getattr(record, "approved_by", None),
    }


def _matched(row: Row[Any], found: Held, paid: dict[str, Any] | None) -> dict[str, Any]:
    """How the logged names became the price list's."""
    logged = row.response_model or row.model
    name = None if paid is None else paid["model"]
    how = None
    if name is not None:
        dateless = _DATE.sub("", logged.lower())
        how = "exact" if logged.lower() == name.lower() else "without date" if dateless == name.lower() else "alias"
    return {"provider": row.provider, "seller": found.seller, "logged_model": logged, "priced_model": name, "how": how}


def _conditions(row: Row[Any], paid: dict[str, Any] | None) -> dict[str, Any] | None:
    """What of the event decided among the model's rows, and the threshold it reached."""
    if paid is None:
        return None
    total = sum(getattr(row, name) for name in INPUT_COLUMNS)
    counts = {
        "total_input": total,
        "uncached_input": row.uncached_input_tokens,
        "output": row.output_tokens,
        "total": total + row.output_tokens,
    }
    decider = paid["decided_by"] or "total_input"
    reached = None
    if paid["above_tokens"]:
        reached = f"{decider} {counts[decider]} {paid['operator']} {paid['above_tokens']}"
    return {
        "service_tier": paid["service_tier"],
        "surface": paid["surface"],
        "region": paid["region"],
        "deciding_tokens": counts[decider],
        "threshold": reached,
    }


def _components(row: Row[Any], prices: Prices, listed: Prices) -> list[dict[str, Any]]:
    """A class each: quantity, both unit prices, both costs, and the fallback that stands in for a missing price."""
    found = []
    for component in components_of(row, prices, listed):
        name, quantity = component["token_class"], component["quantity"]
        list_price = listed[name].price if name in listed else None
        found.append(
            {
                "token_class": name,
                "quantity": quantity,
                "list_unit_price": None if list_price is None else stated(name, list_price),
                "list_cost": None if list_price is None else format_minor(quantity * list_price),
                "contracted_unit_price": component["effective_unit_price"],
                "contracted_cost": component["effective_cost"],
                "fallback": component.get("fallback"),
            }
        )
    return found


def _first_line(row: Row[Any]) -> dict[str, Any]:
    paid = None if row.contracted_cost_e15 is None else format_minor(row.contracted_cost_e15)
    return {
        "charge_id": f"{row.event_id}:{row.revision}",
        "class": None,
        "supersedes": None,
        "charge_status": row.charge_status,
        "reason": row.reason,
        "run_id": None,
        "recorded_at": _text(row.received_at),
        "sku_price_id": None if row.sku_price_id is None else format_sku(row.sku_price_id),
        "billing_currency": row.billing_currency,
        "list_cost": None if row.list_cost_e15 is None else format_minor(row.list_cost_e15),
        **dict.fromkeys(COSTS[1:], paid),
    }


def _line(line: Row[Any]) -> dict[str, Any]:
    mapping = line._mapping
    return {
        **{name: mapping[name] for name in ("charge_id", "class", "supersedes", "charge_status", "reason", "run_id")},
        "recorded_at": _text(line.created_at),
        "sku_price_id": None if line.sku_price_id is None else format_sku(line.sku_price_id),
        "billing_currency": line.billing_currency,
        **{name: _amount(getattr(line, name)) for name in COSTS},
    }


def _settled(line: Row[Any]) -> dict[str, Any]:
    return {
        "subject_id": line.subject_id,
        "policy": line.policy,
        "reason": line.reason,
        "category": line.category,
        "charge_period_start": _text(line.charge_period_start),
        **{name: _amount(getattr(line, name)) for name in COSTS},
    }


def _amount(amount: Decimal | None) -> str | None:
    return None if amount is None else format_plain(amount)


def _text(moment: datetime | date | time | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
