"""What came for a closed month after its close, and in which month is it booked?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, text

from accounting.money import format_plain
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

_LATE = text(
    """
    SELECT month, booking_period, billing_currency, sum(events)::bigint AS events, sum(effective_cost) AS effective_cost
    FROM (SELECT date_trunc('month', bucket AT TIME ZONE 'UTC')::date AS month, *
          FROM rollup_15m WHERE tenant = :tenant) AS line
    WHERE month < booking_period AND month <= (SELECT max(month) FROM closed_months WHERE tenant = :tenant)
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    """
)


def late_lines(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """A row a closed month, month of booking and currency, in that order.

    `events` counts calls, less those that were taken back; `effective_cost` is their exact sum as plain text, below 0 where more was
    taken back than came. Months are those of UTC, as bookings are. A closed month for which nothing came has no row.
    """
    with read_only(engine, context.tenant) as connection:
        found = [dict(row) for row in connection.execute(_LATE, {"tenant": context.tenant}).mappings()]
    return [{**row, "effective_cost": format_plain(row["effective_cost"])} for row in found]
