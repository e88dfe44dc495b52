"""Which single ledger lines is a figure the sum of? A page of them at a time, the dearest or the newest first."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlalchemy import Engine, text

from accounting.errors import InvalidInput
from accounting.money import format_plain
from accounting.reports.explore_source import DIMENSIONS
from accounting.reports.query import ReportQuery
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

ORDERS = ("cost", "time")
MOST = 1000
FILTERS = (*DIMENSIONS, "subject_kind", "subject_id")
_TEXTS = (
    "charge_id",
    "subject_kind",
    "subject_id",
    "charge_status",
    "category",
    "class",
    "supersedes",
    "seller",
    "model",
    "purpose",
    "user_id",
    "account_id",
    "feature",
    "deployment",
    "billing_currency",
    "basis",
    "policy",
    "quality",
    "reason",
)
_COUNTS = ("events", "uncached_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")
# A line without a cost sorts as the least of all, below negative ones.
_ORDER = {"cost": "coalesce(effective_cost, '-Infinity'::numeric)", "time": "occurred_at"}
_DIGITS = 38
"""Of an amount, on either side of its point."""
_PAGE = """
    SELECT {columns}, occurred_at, {order} AS place FROM ledger
    WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :until {filters} {beyond}
    ORDER BY {order} DESC, charge_id DESC LIMIT :limit
"""


def charge_list(
    engine: Engine, context: TenantContext, query: ReportQuery, order: str = "cost", cursor: str | None = None
) -> dict[str, Any]:
    """A page of the ledger lines of [from, to) that have all of `query.filters` (FILTERS).

    Args:
        query: its limit is the page's length, MOST at most (default 100).
        order: `cost`, dearest first and unknown last, or `time`, newest first; charge_id decides between equals.
        cursor: `next` of the page before; None: the first page.

    Returns {charges: [...], next}: amounts plain decimals, unknown None; `next` is None on the last page. The time follows the number of
    lines of the period, as they are sorted. Raises InvalidInput (`filter`, `order`, `cursor`, `limit`).
    """
    query.check_filters(FILTERS)
    limit = query.limit or 100
    if limit > MOST:
        raise InvalidInput("limit", limit, f"must be from 1 to {MOST}")
    if order not in ORDERS:
        raise InvalidInput("order", order, f"must be one of {', '.join(ORDERS)}")
    parameters: dict[str, Any] = {
        "tenant": context.tenant,
        "since": query.since,
        "until": query.until,
        "limit": limit + 1,
        **{f"filter_{name}": value for name, value in query.filters},
    }
    beyond = ""
    if cursor is not None:
        place, charge_id = _read(cursor, order)
        beyond = f"AND ({_ORDER[order]}, charge_id) < (:place, :charge_id)"
        parameters |= {"place": place, "charge_id": charge_id}
    statement = text(
        _PAGE.format(
            columns=", ".join((*_TEXTS, *_COUNTS, *_COSTS)),
            order=_ORDER[order],
            filters="".join(f" AND coalesce({name}, '') = :filter_{name}" for name, _ in query.filters),
            beyond=beyond,
        )
    )
    with read_only(engine, context.tenant) as connection:
        found = connection.execute(statement, parameters).all()
    more = len(found) > limit
    rows = found[:limit]
    return {"charges": [_shown(row) for row in rows], "next": _written(rows[-1]) if more else None}


def _shown(row: Any) -> dict[str, Any]:
    named = row._mapping
    return {
        **{name: named[name] for name in (*_TEXTS, *_COUNTS)},
        **{name: None if named[name] is None else format_plain(named[name]) for name in _COSTS},
        "occurred_at": _moment(row.occurred_at),
    }


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _written(row: Any) -> str:
    place = _moment(row.place) if isinstance(row.place, datetime) else str(row.place)
    return base64.urlsafe_b64encode(f"{place} {row.charge_id}".encode()).decode()


def _read(cursor: str, order: str) -> tuple[Decimal | datetime, str]:
    try:
        place, _, charge_id = base64.b64decode(cursor, altchars=b"-_", validate=True).decode().partition(" ")
        at = Decimal(place) if order == "cost" else datetime.fromisoformat(place)
    except (binascii.Error, ValueError, InvalidOperation) as error:
        raise InvalidInput("cursor", cursor, "is not the `next` of a page in this order") from error
    if not charge_id or "\x00" in charge_id or not _storable(at):
        raise InvalidInput("cursor", cursor, "is not the `next` of a page in this order")
    return at, charge_id


def _storable(at: Decimal | datetime) -> bool:
    """Whether a column could hold it: a moment with its zone, an amount of a size that amounts have, or the place of unknown ones."""
    if isinstance(at, datetime):
        return at.utcoffset() is not None
    return at.is_infinite() or (at.is_finite() and (not at or abs(at.adjusted()) < _DIGITS))
