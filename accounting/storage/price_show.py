"""How does a price row look to a person and in JSON?"""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from accounting.money import format_scaled
from accounting.pricing.layering import HeldRow
from accounting.pricing.tariff import Tariff, format_sku
from accounting.storage.price_rows import PER_TOKENS, STATED_SCALE
from accounting.usage.classes import UNIT_CLASSES


def unit_price_text(token_class: str, price: int) -> str:
    """A price of `Tariff` units as decimal text for a million tokens or a thousand units."""
    return format_scaled(price, STATED_SCALE[UNIT_CLASSES.get(token_class, PER_TOKENS)])


def moment_text(moment: datetime | None) -> str | None:
    """An instant as RFC 3339 in UTC."""
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def tariff_json(row: Tariff) -> dict[str, Any]:
    """A price row; prices are decimal text per million tokens, per thousand for counted things."""
    return {
        "sku_price_id": row.sku_price_text,
        "seller": row.seller,
        "model": row.model,
        "service_tier": row.service_tier,
        "surface": row.surface,
        "region": row.region,
        "above_input_tokens": row.above_input_tokens,
        "operator": row.operator,
        "decided_by": row.decided_by,
        "window_start": _clock(row.window_start),
        "window_end": _clock(row.window_end),
        "effective_from": moment_text(row.effective_from),
        "effective_until": moment_text(row.effective_until),
        "currency": row.currency,
        "prices": {name: unit_price_text(name, price) for name, price in row.prices.items()},
        "fallbacks": dict(row.fallbacks),
        "own": row.tenant is not None,
        "derived_from": None if row.derived_from is None else format_sku(row.derived_from),
        "source": row.source,
        "source_version": row.source_version,
        "checked_on": None if row.checked_on is None else row.checked_on.isoformat(),
        "created_by": row.created_by,
        "approved_by": row.approved_by,
    }


def row_json(one: HeldRow) -> dict[str, Any]:
    """A price row with what is believed of it."""
    return tariff_json(one.tariff) | {"list_source": one.list_source, "state": one.state}


def line(row: dict[str, Any]) -> str:
    """One line for a person: id, state, source, whose, conditions, dates, prices."""
    above = f" {row['operator']}{row['above_input_tokens']}" if row["above_input_tokens"] else ""
    where = "".join(f" {name}={row[name]}" for name in ("surface", "region") if row[name])
    hours = f" {row['window_start']}-{row['window_end']}" if row["window_start"] else ""
    dates = f"[{row['effective_from'] or 'ever'}, {row['effective_until'] or 'open'})"
    prices = " ".join(f"{name}={price}" for name, price in row["prices"].items())
    head = [row["sku_price_id"], row.get("state", "in force"), f"{row['source']} {row['source_version']}"]
    named = f"{row['seller']}/{row['model']} {row['service_tier']}{above}{where}{hours}"
    return "\t".join([*head, named, dates, f"{row['currency']} {prices}"])


def _clock(at: time | None) -> str | None:
    return None if at is None else at.isoformat()
