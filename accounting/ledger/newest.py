"""What is the newest row of an event, its last revision or void?"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

# Revision 0 is found in the one partition that event_ids names; later revisions have an index of their own.
NEWEST = """
SELECT newest.* FROM event_ids known CROSS JOIN LATERAL (
  SELECT * FROM usage_events WHERE tenant = known.tenant AND event_id = known.event_id AND revision > 0
  UNION ALL
  SELECT * FROM usage_events
  WHERE tenant = known.tenant AND event_id = known.event_id AND occurred_at = known.occurred_at AND revision = 0
) newest
WHERE known.tenant = {tenant} AND known.event_id = {event_id} ORDER BY newest.revision DESC LIMIT 1
"""
_QUERY = text(NEWEST.format(tenant=":tenant", event_id=":event_id"))


def newest_row(connection: Connection, tenant: str, event_id: str) -> Row[Any] | None:
    """The newest row of usage_events for an event, None for an unknown id. The tenant must be set in the transaction."""
    return connection.execute(_QUERY, {"tenant": tenant, "event_id": event_id}).one_or_none()
