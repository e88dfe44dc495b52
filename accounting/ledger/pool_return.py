"""How is what pools charged for an event taken back, when it is voided or revised?

A line an hour, and the amount goes to the hour's gap: the machine ran, whoever it was for, and the hour still adds up to its bill. The
next settlement shares the gap anew.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from accounting.ledger.booking import booked
from accounting.ledger.rollups import COSTS, COUNTS
from accounting.ledger.settlers.pool_booked import BASES, BASIS
from accounting.tenant import TenantContext

_SETTLED = (
    "charge_period_start, booking_period, category, charge_status, seller, model, purpose, account_id, user_id, feature, "
    "deployment, billing_currency, policy"
)
_MADE = _SETTLED.replace("booking_period", booked("booking_period"))
_AMOUNTS = tuple(dict.fromkeys((*COUNTS, *COSTS, *BASES)))
_RETURN = text(
    f"INSERT INTO charges (charge_id, supersedes, basis, reason, class, tenant, subject_kind, subject_id, subject_revision, "
    f"{_SETTLED}, {', '.join(_AMOUNTS)}) "
    f"SELECT max(charge_id) || '/void', max(charge_id), '{BASIS}', :reason, 'Correction', :tenant, 'event', :event_id, :revision, "
    f"{_MADE}, {', '.join(f'-sum({name})' for name in _AMOUNTS)} "
    "FROM charges WHERE tenant = :tenant AND subject_kind = 'event' AND subject_id = :event_id AND subject_revision = :revision "
    f"AND basis = '{BASIS}' GROUP BY {_SETTLED} HAVING sum(events) <> 0 OR {' OR '.join(f'sum({name}) <> 0' for name in BASES)} "
    "RETURNING supersedes, charge_id"
)
_TO_GAP = text(
    "INSERT INTO charges (charge_id, supersedes, basis, reason, class, tenant, subject_kind, subject_id, charge_period_start, "
    "booking_period, category, charge_status, seller, model, purpose, deployment, billing_currency, policy, "
    f"{', '.join(_AMOUNTS)}) "
    f"SELECT charge_id || '/gap', charge_id, '{BASIS}', 'gap', 'Correction', tenant, 'pool_hour', "
    "deployment || '@' || to_char(charge_period_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24'), "
    "date_bin('1 hour', charge_period_start, timestamptz '2000-01-01 00:00:00+00'), "
    f"{booked('booking_period')}, category, charge_status, seller, "
    "deployment || ': idle and gap', 'pool_gap', deployment, billing_currency, policy, "
    f"{', '.join('0' if name in COUNTS else '-' + name for name in _AMOUNTS)} "
    "FROM charges WHERE tenant = :tenant AND charge_id = ANY(:returned) AND effective_cost IS NOT NULL RETURNING charge_id"
)


def return_charges(
    connection: Connection, context: TenantContext, place: dict[str, Any]
) -> tuple[list[Row[Any]], list[str]]:
    """Appends the lines of one revision of an event (tenant, event_id, revision, reason).

    Returns (supersedes, charge_id) of what was taken back, and the ids of the lines that the gaps got.
    """
    returned = list(connection.execute(_RETURN, place))
    ids = [row.charge_id for row in returned]
    return returned, list(connection.execute(_TO_GAP, {"tenant": context.tenant, "returned": ids}).scalars())
