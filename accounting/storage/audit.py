"""Who changed what about prices, pools, months and access, and is a price book still as it was read? One append-only log answers both."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, func, insert, select, text

from accounting.errors import InvalidInput
from accounting.storage.engine import read_only
from accounting.storage.tables import audit_log
from accounting.tenant import TenantContext

_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('tokencogs.prices'))")
_STAMP = text(
    """
    SELECT coalesce((SELECT max(audit_id) FROM audit_log WHERE tenant IS NULL AND split_part(action, '.', 1) = ANY(:kinds)), 0),
           coalesce((SELECT max(audit_id) FROM audit_log WHERE tenant = :tenant AND split_part(action, '.', 1) = ANY(:kinds)), 0)
    """
)

KINDS = ("alerts", "contract", "gpu_rate", "key", "login", "month", "pool", "prices")
"""What acts are about: an act is named `kind.verb`."""
_PRICING = ("contract", "prices")
"""Kinds of acts that change what somebody pays."""
Stamp = tuple[int, int]
"""Newest act on the prices of all tenants, and on those of one."""


def begin(connection: Connection, at: datetime | None = None) -> datetime:
    """The moment at which this transaction's statements are recorded.

    Writers of prices take turns, so that whoever reads a later number has seen every earlier one. `at`: for records of the past.
    """
    connection.execute(_LOCK)
    if at is not None:
        return at
    moment: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    return moment


def note(
    connection: Connection,
    tenant: str | None,
    at: datetime,
    actor: str,
    action: str,
    subject: str,
    before: Any = None,
    after: Any = None,
) -> None:
    """Writes an act down in the transaction that does it."""
    values = {"tenant": tenant, "at": at, "actor": actor, "action": action, "subject": subject}
    connection.execute(insert(audit_log).values(values | {"before": before, "after": after}))


def stamp(engine: Engine, tenant: str) -> Stamp:
    """Changes when prices of all or of the tenant do; two index look-ups."""
    with read_only(engine, tenant) as connection:
        everyone, own = connection.execute(_STAMP, {"tenant": tenant, "kinds": list(_PRICING)}).one()
    return (everyone, own)


def listed(
    engine: Engine, context: TenantContext, limit: int = 100, subject: str | None = None, kinds: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Acts of a tenant and of the operator, the newest first; of these KINDS alone where any is named. Raises InvalidInput."""
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput("kind", kind, f"one of {', '.join(KINDS)} is expected")
    query = select(audit_log).order_by(audit_log.c.audit_id.desc()).limit(limit)
    if subject is not None:
        query = query.where(audit_log.c.subject == subject)
    if kinds:
        query = query.where(func.split_part(audit_log.c.action, ".", 1).in_(kinds))
    with read_only(engine, context.tenant) as connection:
        return [
            {
                "at": row.at.isoformat().replace("+00:00", "Z"),
                "actor": row.actor,
                "for": "all" if row.tenant is None else row.tenant,
                "action": row.action,
                "subject": row.subject,
                "before": row.before,
                "after": row.after,
            }
            for row in connection.execute(query)
        ]
