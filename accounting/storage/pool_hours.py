"""What became of the bills of pool hours? Append-only: an hour settled again is a further row, the newest counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from accounting.storage.tables import pool_hours, settled_pool_hours


def settled_hours(
    connection: Connection,
    pool_id: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Sequence[Any]:
    """The settlement that counts of each hour of [since, until), of one pool or of all, by pool and hour; of the transaction's tenant."""
    table = settled_pool_hours.c
    query = select(settled_pool_hours).order_by(table.pool_id, table.hour)
    for condition in (
        None if pool_id is None else table.pool_id == pool_id,
        None if since is None else table.hour >= since,
        None if until is None else table.hour < until,
    ):
        query = query if condition is None else query.where(condition)
    return connection.execute(query).all()


def record_hours(connection: Connection, tenant: str, rows: Iterable[dict[str, Any]]) -> None:
    """Appends settlements; `settlement` of each is one more than the hour's last."""
    values = [{"tenant": tenant, **row} for row in rows]
    if values:
        connection.execute(insert(pool_hours), values)
