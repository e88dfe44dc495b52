"""How much was paid by contract for usage that no list prices, so that a list cost is not taken for that of all usage?"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, text

from accounting.reports.base import Footer
from accounting.tenant import TenantContext

NAME = "contracted_cost_without_list_price"

# An event's lines have a list cost or none alike: a reversal that undoes one without has none either, so both sums stay exact.
_UNLISTED = text(
    """
    SELECT billing_currency, sum(events) AS events, sum(contracted_cost) AS contracted_cost
    FROM (
      SELECT billing_currency, 1 AS events, contracted_cost_e15 * 0.000000000000001 AS contracted_cost FROM usage_events
      WHERE tenant = :tenant AND occurred_at >= :since AND occurred_at < :until
        AND charge_status = 'priced' AND list_cost_e15 IS NULL
      UNION ALL
      SELECT billing_currency, events, contracted_cost FROM charges
      WHERE tenant = :tenant AND charge_period_start >= :since AND charge_period_start < :until
        AND category = 'Usage' AND charge_status = 'priced' AND list_cost IS NULL
    ) AS lines
    GROUP BY 1 HAVING sum(events) <> 0 OR sum(contracted_cost) <> 0 ORDER BY 1
    """
)


def unlisted(connection: Connection, context: TenantContext, since: datetime, until: datetime) -> list[Footer]:
    """One line a currency that has any in [since, until): contracted cost of such usage as booked, its events in the note.

    What a settlement makes of a contract month afterwards (volume tiers) belongs to no single event and is not in it.
    """
    asked = {"tenant": context.tenant, "since": since, "until": until}
    rows = connection.execute(_UNLISTED, asked).all()
    return [
        Footer(
            NAME,
            row.contracted_cost,
            row.billing_currency,
            f"events that no list prices: {row.events}; list cost leaves them out; before volume tiers",
        )
        for row in rows
    ]
