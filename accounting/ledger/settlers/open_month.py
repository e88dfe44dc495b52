"""Which month is a line of an hour booked in, where its own is closed?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, text

from accounting.ledger.booking import FIRST_OPEN
from accounting.months import month_after

Closed = Callable[[date], bool]
"""Whether a month (its first day) is closed."""


@dataclass(frozen=True)
class Month:
    """Attributes: period: first day; closed: the hour's own month is, so that `period` is the first open one after it."""

    period: date
    closed: bool


def closed_months(connection: Connection, tenant: str) -> Closed:
    """The months of a tenant that are closed; they close in order."""
    first: date | None = connection.execute(text(f"SELECT {FIRST_OPEN}")).scalar_one()
    return lambda month: first is not None and month < first


def month_of(hour: datetime, closed: Closed) -> Month:
    """Where lines of an hour are booked."""
    own = period = date(hour.year, hour.month, 1)
    while closed(period):
        period = month_after(period)
    return Month(period, period != own)
