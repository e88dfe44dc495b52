"""Does a report equal the ledger, and how do costs by charge period go over into costs by booking period?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, DATE

from accounting.reports.base import Footer
from accounting.reports.exact import ZERO, minus, plus
from accounting.reports.query import ReportQuery
from accounting.reports.source import rollup
from accounting.tenant import TenantContext

# One pass over the buckets of the period and of the months, without any grouping but the currency. Late lines, whose booking
# month is not the month of their bucket, may lie anywhere else: the second piece, served by the index of exactly those lines.
_CONTROL = """
    SELECT billing_currency,
           coalesce(sum(effective_cost) FILTER (WHERE here), 0) AS incurred,
           coalesce(sum(effective_cost) FILTER (WHERE here AND NOT posted), 0) AS booked_elsewhere,
           coalesce(sum(effective_cost) FILTER (WHERE posted), 0) AS booked,
           coalesce(sum(effective_cost) FILTER (WHERE posted AND NOT here), 0) AS incurred_elsewhere
    FROM (
      SELECT billing_currency, effective_cost, bucket >= :since AND bucket < :until AS here,
             booking_period = ANY((SELECT :months)::date[]) AS posted
      FROM {rollup} WHERE tenant = :tenant AND bucket >= :low AND bucket < :high
      UNION ALL
      SELECT billing_currency, effective_cost, false, true FROM {rollup}
      WHERE tenant = :tenant AND (bucket < :low OR bucket >= :high) AND booking_period = ANY((SELECT :months)::date[])
        AND booking_period <> (date_trunc('month', bucket AT TIME ZONE 'UTC'))::date
    ) AS lines GROUP BY 1
    """


@dataclass(frozen=True)
class Control:
    """Effective cost by currency, seen from both sides.

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


def control(connection: Connection, context: TenantContext, query: ReportQuery) -> Control:
    """Reads the period's control totals from the rollup that the report itself reads."""
    months = sorted({day.replace(day=1) for day in query.days()})
    since, until = _instant(months[0]), _instant((months[-1] + timedelta(days=32)).replace(day=1))
    parameters = {
        "tenant": context.tenant,
        "since": query.since,
        "until": query.until,
        "low": min(query.since, since),
        "high": max(query.until, until),
        "months": months,
    }
    statement = text(_CONTROL.format(rollup=rollup(query, context))).bindparams(bindparam("months", type_=ARRAY(DATE)))
    rows = connection.execute(statement, parameters).all()
    names = ("incurred", "booked_elsewhere", "booked", "incurred_elsewhere")
    return Control(
        months[0], months[-1], *({row.billing_currency: getattr(row, name) for row in rows} for name in names)
    )


def footer(currency: str, reported: Decimal | None, found: Control) -> list[Footer]:
    """Control total and reconciliation lines of one currency."""
    incurred, posted = found.incurred.get(currency, ZERO), found.booked.get(currency, ZERO)
    there, here = found.booked_elsewhere.get(currency, ZERO), found.incurred_elsewhere.get(currency, ZERO)
    months = f"{found.first:%Y-%m} to {found.last:%Y-%m}"
    bridge = minus(plus(minus(incurred, there), here), posted)
    lines = [
        ("ledger_total", incurred, "effective cost of the ledger in this charge period, summed without grouping"),
        ("difference", minus(reported or ZERO, incurred), "report less ledger; 0 or the report is wrong"),
        ("booked_in_other_months", minus(ZERO, there), f"incurred here, booked outside {months}"),
        ("incurred_outside", here, f"booked in {months}, incurred outside this charge period"),
        ("booking_period_total", posted, f"effective cost booked in {months}, summed by booking period"),
        (
            "booking_difference",
            bridge,
            "ledger_total + booked_in_other_months + incurred_outside - booking_period_total",
        ),
    ]
    return [Footer(name, amount, currency, note) for name, amount, note in lines]


def elsewhere(currency: str, found: Control) -> list[Footer]:
    """What a report of one billing currency alone leaves out: a line each other currency that anything cost in."""
    note = f"billed in it and in no figure here, which are of {currency}; ask for one currency to have all"
    others = sorted((name, amount) for name, amount in found.incurred.items() if name != currency and amount)
    return [Footer("spend_in_other_currency", amount, name, note) for name, amount in others]


def _instant(first: date) -> datetime:
    return datetime(first.year, first.month, first.day, tzinfo=UTC)


def by_user_day(currency: str, reported: Decimal, ledger: Decimal) -> list[Footer]:
    """What ties a report by user and reporting day to the ledger: its total, and the difference to what was reported."""
    note = "effective cost of the ledger by user and reporting day, summed without grouping"
    return [
        Footer("ledger_total", ledger, currency, note),
        Footer("difference", minus(reported, ledger), currency, "report less ledger; 0 or the report is wrong"),
    ]
