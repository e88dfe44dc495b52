"""How did the charges of an event that the tenant's own machines served come about, pool by pool and hour by hour?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row

from accounting.ledger.pending import estimate_of
from accounting.ledger.settlers.pool_booked import BASIS
from accounting.ledger.settlers.pool_cells import HOUR
from accounting.money import format_plain
from accounting.selfhosted.pool_settings import FIRST_PAYS
from accounting.storage.pool_hours import settled_hours
from accounting.tenant import TenantContext

_MEASURES = (
    "share_seconds",
    "own_prefill_seconds",
    "own_decode_seconds",
    "shared_seconds",
    "expert_seconds",
    "prefill_seconds",
    "decode_seconds",
    "underfill_seconds",
    "steps",
    "mean_batch",
    "kv_share",
    "beyond_measured_range",
)
_TERMS = ("bill", "direct", "gap", "idle", "underfill", "variance")


def explain_pools(
    connection: Connection, context: TenantContext, row: Row[Any], later: Sequence[Row[Any]], status: str
) -> dict[str, Any]:
    """Keys: pools, a part each pool hour that charged the event (empty for an event of a provider); estimate, while it waits."""
    groups: dict[tuple[str, datetime], list[Row[Any]]] = {}
    for line in later:
        if line.basis == BASIS:
            hour = line.charge_period_start.replace(minute=0, second=0, microsecond=0)
            groups.setdefault((line.deployment, hour), []).append(line)
    waiting = row.deployment is not None and status == "pending_settlement"
    return {
        "pools": [_part(connection, pool, hour, lines) for (pool, hour), lines in sorted(groups.items())],
        "estimate": estimate_of(connection, context, row) if waiting else None,
    }


def _part(connection: Connection, pool: str, hour: datetime, lines: Sequence[Row[Any]]) -> dict[str, Any]:
    newest = lines[-1]
    details = newest.details or {}
    found = settled_hours(connection, pool, hour, hour + HOUR)
    effective, direct, loaded = (_sum(lines, name) for name in ("effective_cost", "direct_cost", "fully_loaded_cost"))
    priced = newest.charge_status == "priced"
    return {
        "pool_id": pool,
        "hour": f"{hour:%Y-%m-%dT%H:%MZ}",
        "status": newest.charge_status,
        "reason": newest.reason,
        "curve_id": details.get("curve_id"),
        "policy": newest.policy,
        "quality": newest.quality,
        "prefix_policy": details.get("prefix_policy", FIRST_PAYS) if newest.quality else None,
        "billing_currency": newest.billing_currency,
        "direct_cost": _text(direct, priced),
        "gap_cost": _text(effective - direct, priced),
        "attributed_cost": _text(effective, priced),
        "idle_cost": _text(loaded - effective, priced),
        "fully_loaded_cost": _text(loaded, priced),
        **{name: details.get(name) for name in _MEASURES},
        "pool_hour": _hour(found[0]) if found else None,
    }


def _hour(settled: Row[Any]) -> dict[str, Any]:
    terms = {name: getattr(settled, name) for name in _TERMS}
    return {
        **{name: None if amount is None else format_plain(amount) for name, amount in terms.items()},
        **{
            name: getattr(settled, name)
            for name in ("utilisation", "calibration", "best_batch", "requests", "settlement")
        },
        "replica_seconds": settled.capacity_us / 1_000_000,
        "in_flight_seconds": settled.in_flight_us / 1_000_000,
    }


def _sum(lines: Sequence[Row[Any]], name: str) -> Decimal:
    return sum((getattr(line, name) for line in lines if getattr(line, name) is not None), Decimal(0))


def _text(amount: Decimal, priced: bool) -> str | None:
    return format_plain(amount) if priced else None
