"""Does a report equal the ledger, and how do costs by charge period go over into costs by booking period?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, DATE

from accounting.reports.base import Footer
from accounting.reports.exact import ZERO, minus, plus
from accounting.reports.query import ReportQuery
from accounting.tenant import TenantContext

# Effective cost incurred in the period, without any grouping but the currency; and the part of it booked in other months.
_INCURRED = text(
    """
    SELECT billing_currency, sum(effective_cost) AS incurred,
           coalesce(sum(effective_cost) FILTER (WHERE booking_period <> ALL(:months)), 0) AS booked_elsewhere
    FROM rollup_15m WHERE tenant = :tenant AND bucket >= :since AND bucket < :until GROUP BY 1
    """
).bindparams(bindparam("months", type_=ARRAY(DATE)))

# Effective cost booked in the months; and the part of it incurred outside the period. In two pieces, so that an index serves each:
# lines incurred in the very months, and late ones, whose booking month is not the month of their bucket.
_BOOKED = text(
    """
    SELECT billing_currency, sum(effective_cost) AS booked,
           coalesce(sum(effective_cost) FILTER (WHERE bucket < :since OR bucket >= :until), 0) AS incurred_elsewhere
    FROM (
      SELECT billing_currency, effective_cost, bucket FROM rollup_15m
      WHERE tenant = :tenant AND bucket >= :months_since AND bucket < :months_until AND booking_period = ANY(:months)
      UNION ALL
      SELECT billing_currency, effective_cost, bucket FROM rollup_15m
      WHERE tenant = :tenant AND (bucket < :months_since OR bucket >= :months_until) AND booking_period = ANY(:months)
        AND booking_period <> (date_trunc('month', bucket AT TIME ZONE 'UTC'))::date
    ) AS lines GROUP BY 1
    """
).bindparams(bindparam("months", type_=ARRAY(DATE)))


@dataclass(frozen=True)
class Booked:
    """Effective cost of a period by currency, seen from both sides.

    Attributes:
        first, last: booking months that the period's local months name.
        incurred: charge period within the period. booked_elsewhere: the part of it booked in other months.
        booked: booking period within the months. incurred_elsewhere: the part of it with a charge period outside the period.
    """

    first: date
    last: date
    incurred: Mapping[str, Decimal]
    booked_elsewhere: Mapping[str, Decimal]
    booked: Mapping[str, Decimal]
    incurred_elsewhere: Mapping[str, Decimal]


def booked(connection: Connection, context: TenantContext, query: ReportQuery) -> Booked:
    """Reads the period's control totals: two sums of the rollup, neither of them grouped like a report."""
    months = _months(query)
    parameters: dict[str, Any] = {
        "tenant": context.tenant,
        "since": query.since,
        "until": query.until,
        "months": months,
        "months_since": datetime(months[0].year, months[0].month, 1, tzinfo=UTC),
        "months_until": _month_after(months[-1]),
    }
    incurred = connection.execute(_INCURRED, parameters).all()
    posted = connection.execute(_BOOKED, parameters).all()
    return Booked(
        months[0],
        months[-1],
        {row.billing_currency: row.incurred for row in incurred},
        {row.billing_currency: row.booked_elsewhere for row in incurred},
        {row.billing_currency: row.booked for row in posted},
        {row.billing_currency: row.incurred_elsewhere for row in posted},
    )


def footer(currency: str, reported: Decimal | None, control: Booked) -> list[Footer]:
    """Control total and reconciliation lines of one currency."""
    incurred = control.incurred.get(currency, ZERO)
    there, here = control.booked_elsewhere.get(currency, ZERO), control.incurred_elsewhere.get(currency, ZERO)
    posted = control.booked.get(currency, ZERO)
    months = f"{control.first:%Y-%m} to {control.last:%Y-%m}"
    bridge = minus(plus(minus(incurred, there), here), posted)
    lines = [
        ("ledger_total", incurred, "effective cost of the ledger in this charge period, summed without grouping"),
        ("difference", minus(reported or ZERO, incurred), "report less ledger; 0 or the report is wrong"),
        ("booked_in_other_months", there.copy_negate() if there else ZERO, f"incurred here, booked outside {months}"),
        ("incurred_outside", here, f"booked in {months}, incurred outside this charge period"),
        ("booking_period_total", posted, f"effective cost booked in {months}, summed by booking period"),
        ("booking_difference", bridge, "ledger_total + booked_in_other_months + incurred_outside - booking_period_total"),
    ]
    return [Footer(name, amount, currency, note) for name, amount, note in lines]


def _months(query: ReportQuery) -> list[date]:
    """First days of the local months that the period touches; they name its booking periods."""
    return sorted({day.replace(day=1) for day in query.days()})


def _month_after(first: date) -> datetime:
    following = (first + timedelta(days=32)).replace(day=1)
    return datetime(following.year, following.month, 1, tzinfo=UTC)
