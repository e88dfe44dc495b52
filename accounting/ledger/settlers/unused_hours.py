"""What does held capacity cost that no pool was scheduled on, as lines of the ledger?

One line an hour of a reservation or of owned hardware, of no pool and no request, the same in every basis; a bill made anew brings one
more line, the difference. Hours of zero get a line only where an earlier one is to be taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, text

from accounting.ledger.charge_line import NewCharge
from accounting.ledger.settlers.open_month import Closed, Month, closed_months, month_of
from accounting.ledger.settlers.pool_booked import BASIS
from accounting.ledger.settlers.pool_due import WAIT
from accounting.ledger.settlers.pool_lines import SELLER, costs_of
from accounting.money import format_plain, to_line
from accounting.tenant import TenantContext

REASON, PURPOSE = "unused", "unused_capacity"
_PREFIX = "unused:"
_OWED = text(
    """
    WITH newest AS (
      SELECT DISTINCT ON (rate_id, hour) rate_id, hour, amount, billing_currency, gpu_hours FROM unused_gpu_hours
      WHERE tenant = :tenant AND hour < :until ORDER BY rate_id, hour, recorded_at DESC, record_id DESC
    ), booked AS (
      SELECT subject_id, billing_currency, count(*) AS lines, sum(effective_cost) AS amount, min(charge_period_start) AS hour,
             min(model) AS model
      FROM charges
      WHERE tenant = :tenant AND subject_kind = 'pool_hour' AND reason = :reason
        AND charge_period_start >= :since AND charge_period_start < :until
      GROUP BY 1, 2
    )
    SELECT coalesce(n.rate_id, substr(b.model, length(:prefix) + 2)) AS rate_id, coalesce(n.hour, b.hour) AS hour,
           coalesce(n.billing_currency, b.billing_currency) AS billing_currency, n.gpu_hours,
           coalesce(n.amount, 0) - coalesce(b.amount, 0) AS amount, coalesce(b.lines, 0) AS lines
    FROM newest n FULL JOIN booked b
      ON b.subject_id = :prefix || n.rate_id || '@' || to_char(n.hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24')
     AND b.billing_currency = n.billing_currency
    WHERE coalesce(n.amount, 0) <> coalesce(b.amount, 0)
    ORDER BY 1, 2, 3
    """
)

_FIRST = text("SELECT min(hour) FROM unused_gpu_hours WHERE tenant = :tenant")


def settle_unused(
    connection: Connection, context: TenantContext, *, now: datetime | None = None, closed: Closed | None = None
) -> Iterator[NewCharge]:
    """The lines that bring unused capacity up to `now`."""
    until = (now or datetime.now(UTC)) - WAIT - timedelta(hours=1) + timedelta(microseconds=1)
    shut = closed or closed_months(connection, context.tenant)
    since = connection.execute(_FIRST, {"tenant": context.tenant}).scalar_one()
    if since is None:
        return
    asked = {"tenant": context.tenant, "since": since, "until": until, "reason": REASON, "prefix": _PREFIX}
    for row in connection.execute(_OWED, asked).all():
        yield _line(row, month_of(row.hour, shut))


def _line(row: Any, month: Month) -> NewCharge:
    subject, number = f"{_PREFIX}{row.rate_id}@{row.hour:%Y-%m-%dT%H}", row.lines + 1
    units = to_line(row.amount)
    return NewCharge(
        charge_id=f"{subject}/{row.billing_currency}/{number}",
        subject_kind="pool_hour",
        subject_id=subject,
        charge_period_start=row.hour,
        booking_period=month.period,
        category="Usage",
        class_=None if number == 1 else "Correction",
        charge_status="priced",
        seller=SELLER,
        model=f"{_PREFIX} {row.rate_id}",
        purpose=PURPOSE,
        billing_currency=row.billing_currency,
        basis=BASIS,
        reason=REASON,
        details={"gpu_hours": None if row.gpu_hours is None else format_plain(row.gpu_hours)},
        **costs_of((units, units, units)),
    )
