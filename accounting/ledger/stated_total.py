"""Does the ledger hold what a seller says it billed for a month?

Only a figure that the seller made says anything: one worked out from the ledger's own prices agrees with the ledger whatever was billed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal

from sqlalchemy import Engine, text

from accounting.errors import InvalidInput, NotFound
from accounting.money import format_plain
from accounting.months import month_after
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

COSTS = ("billed", "contracted", "list")
"""Which cost of the ledger is compared: what is on the invoice, before credits and commitments, or by list."""


@dataclass(frozen=True)
class Stated:
    """A figure to compare with. Attributes: independent: the seller made it, not somebody from our own prices."""

    name: str
    amount: Decimal
    independent: bool


@dataclass(frozen=True)
class Compared:
    """The ledger beside the first independent figure.

    Attributes:
        ledger: in the currency of the comparison.
        reference: None where no figure is independent; the rest is None then too.
        difference: ledger less reference.
        reconciled: whether the difference is within the tolerance.
        unlogged: what was billed beyond the ledger, None where the ledger holds as much or more.
        unlogged_share: of the reference, None where that is not above 0.
    """

    ledger: Decimal
    reference: Stated | None = None
    difference: Decimal | None = None
    reconciled: bool | None = None
    unlogged: Decimal | None = None
    unlogged_share: Decimal | None = None

    def to_json(self) -> dict[str, str | bool | None]:
        amounts = {name: getattr(self, name) for name in ("ledger", "difference", "unlogged", "unlogged_share")}
        told = {name: None if amount is None else format_plain(amount) for name, amount in amounts.items()}
        used = self.reference
        name, amount = (None, None) if used is None else (used.name, format_plain(used.amount))
        return {"reference": name, "stated": amount, **told, "reconciled": self.reconciled}


def compare(ledger: Decimal, figures: Sequence[Stated], within: Decimal = Decimal(0)) -> Compared:
    """Compares with the first figure that is independent; `within` is what both may differ by, as invoices are rounded to cents."""
    reference = next((one for one in figures if one.independent), None)
    if reference is None:
        return Compared(ledger)
    difference = ledger - reference.amount
    unlogged = -difference if difference < 0 else None
    share = None if unlogged is None or reference.amount <= 0 else round(unlogged / reference.amount, 6)
    return Compared(ledger, reference, difference, abs(difference) <= within, unlogged, share)


@dataclass(frozen=True)
class Held:
    """What the ledger holds of a seller's month. Attributes: cost; unpriced, pending: events that have no cost in it."""

    cost: Decimal
    unpriced: int
    pending: int


_HELD = """
    SELECT coalesce(sum({cost}_cost) FILTER (WHERE billing_currency = :currency), 0) AS cost, count(*) AS rows,
           coalesce(sum(events) FILTER (WHERE charge_status = 'unpriced'), 0)::bigint AS unpriced,
           coalesce(sum(events) FILTER (WHERE charge_status = 'pending_settlement'), 0)::bigint AS pending
    FROM rollup_15m WHERE tenant = :tenant AND seller = :seller AND bucket >= :since AND bucket < :until
    """


def held(engine: Engine, context: TenantContext, seller: str, month: date, currency: str, cost: str = "billed") -> Held:
    """The seller's charges of usage in a UTC month, as sellers bill by UTC days.

    Raises NotFound where the ledger has nothing of the seller in the month, InvalidInput for another cost than COSTS.
    """
    if cost not in COSTS:
        raise InvalidInput("cost", cost, f"must be one of {', '.join(COSTS)}")
    since, until = (datetime.combine(day, time(0), UTC) for day in (month.replace(day=1), month_after(month)))
    asked = {"tenant": context.tenant, "seller": seller, "currency": currency, "since": since, "until": until}
    with read_only(engine, context.tenant) as connection:
        row = connection.execute(text(_HELD.format(cost=cost)), asked).one()
    if not row.rows:
        raise NotFound(f"seller={seller!r}: the ledger has nothing of it in {since:%Y-%m}")
    return Held(Decimal(row.cost), row.unpriced, row.pending)
