"""Do the lines of every settled pool hour add up to its bill, in each basis, to the last digit?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from sqlalchemy import Engine, text

from accounting.ledger.settlers.pool_booked import BASES, BASIS
from accounting.money import format_plain
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

NAMES = dict(zip(BASES, ("attributed", "direct", "fully_loaded"), strict=True))

# Lines of other currencies than the bill's must be worked back to nothing, so they count too.
_HOURS = text(
    f"""
    SELECT h.pool_id, h.hour, h.bill, h.billing_currency, {", ".join(f"coalesce(lines.{name}, 0) AS {name}" for name in BASES)}
    FROM settled_pool_hours h LEFT JOIN (
      SELECT deployment, date_bin('1 hour', charge_period_start, timestamptz '2000-01-01 00:00:00+00') AS hour,
             {", ".join(f"sum({name}) AS {name}" for name in BASES)}
      FROM charges WHERE tenant = :tenant AND basis = '{BASIS}' GROUP BY 1, 2
    ) lines ON lines.deployment = h.pool_id AND lines.hour = h.hour
    WHERE h.tenant = :tenant AND (:every OR date_trunc('month', h.hour AT TIME ZONE 'UTC')::date = :month) ORDER BY 1, 2
    """
)


@dataclass(frozen=True)
class PoolHourCheck:
    """One settled hour. Attributes: bill; amounts: basis -> sum of the ledger's lines, currency units."""

    pool_id: str
    hour: datetime
    bill: Decimal
    billing_currency: str
    amounts: dict[str, Decimal]

    @property
    def differs(self) -> bool:
        """Whether any basis is not the bill."""
        return any(amount != self.bill for amount in self.amounts.values())

    def describe(self) -> str:
        """One line for a person."""
        sums = ", ".join(f"{name} {format_plain(amount)}" for name, amount in self.amounts.items())
        return f"pool {self.pool_id} {self.hour:%Y-%m-%dT%H:%MZ} {self.billing_currency}: bill {format_plain(self.bill)}, {sums}"


def check_pools(engine: Engine, context: TenantContext, month: date | None = None) -> list[PoolHourCheck]:
    """Every settled hour of a tenant, or of `month` (its first day); those that differ say so."""
    asked = {"tenant": context.tenant, "month": month, "every": month is None}
    with read_only(engine, context.tenant) as connection:
        rows = connection.execute(_HOURS, asked).all()
    return [
        PoolHourCheck(
            row.pool_id,
            row.hour,
            row.bill,
            row.billing_currency,
            {name: getattr(row, basis) for basis, name in NAMES.items()},
        )
        for row in rows
    ]
