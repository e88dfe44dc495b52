"""Which models have no price, and what is at stake? Events and tokens that stand in no total until someone says what they cost.

What they would cost is not guessed: tokens, days and users say how much hangs on it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, text

from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

# A later correction takes the events it priced off their first line, so that a sum of 0 events is nothing any more. Of several lines of
# an event the last that is no reversal says why it has no price: ids of its lines sort in the order in which they were made.
REASON = '(array_agg(reason ORDER BY subject_revision DESC, charge_id COLLATE "C" DESC) FILTER (WHERE events >= 0))[1]'
_SUSPENSE = text(
    f"""
    SELECT seller, model, reason, sum(events)::bigint AS events,
           sum(uncached_input + cache_read + cache_write)::bigint AS input_tokens, sum(output)::bigint AS output_tokens,
           count(DISTINCT (at AT TIME ZONE :zone)::date) AS days, count(DISTINCT user_id) AS users, min(at) AS first_seen,
           max(at) AS last_seen
    FROM (
      SELECT subject_id, seller, model, {REASON} AS reason, sum(events) AS events, sum(uncached_input_tokens) AS uncached_input,
             sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write, sum(output_tokens) AS output,
             min(occurred_at) AS at, min(user_id) AS user_id
      FROM ledger WHERE tenant = :tenant AND charge_status = 'unpriced' AND subject_kind = 'event'
      GROUP BY subject_id, seller, model HAVING sum(events) > 0
    ) AS open
    GROUP BY seller, model, reason ORDER BY sum(events) DESC, seller, model, reason
    """
)


def unpriced(engine: Engine, context: TenantContext) -> list[dict[str, Any]]:
    """Unpriced events by seller, model and reason, the most first. Days are the tenant's reporting days."""
    parameters = {"tenant": context.tenant, "zone": context.reporting_tz}
    with read_only(engine, context.tenant) as connection:
        rows = connection.execute(_SUSPENSE, parameters).all()
    return [
        {
            "seller": row.seller,
            "model": row.model,
            "reason": row.reason,
            "events": row.events,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "days": row.days,
            "users": row.users,
            "first_seen": row.first_seen.isoformat().replace("+00:00", "Z"),
            "last_seen": row.last_seen.isoformat().replace("+00:00", "Z"),
        }
        for row in rows
    ]
