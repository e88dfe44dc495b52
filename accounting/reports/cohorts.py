"""When has a cohort of users paid back what winning it cost? Contribution by month of age, for cohorts that began in the period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

from sqlalchemy import Connection

from accounting.reports.base import Column, Row
from accounting.reports.bootstrap import FEWEST, LEVEL, Interval, mean_intervals
from accounting.reports.cohort_data import Members, Month, Months, acquired, read_months
from accounting.reports.convert import Converter
from accounting.reports.exact import from_stored
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import rounded_if_known, rounded_to
from accounting.reports.sections import Section
from accounting.tenant import TenantContext

COLUMNS = (
    Column("cohort", "text"),
    Column("age_months", "count"),
    Column("users", "count"),
    *(Column(name, "money") for name in ("net_revenue", "cost", "contribution", "cumulative_contribution")),
    *(Column(name, "number") for name in ("cumulative_per_user", "per_user_low", "per_user_high")),
    Column("acquisition_cost_per_user", "number"),
    Column("paid_back", "text"),
    Column("note", "text"),
)
_NOTHING = Month()


def cohort_section(
    connection: Connection,
    context: TenantContext,
    query: ReportQuery,
    members: Members,
    first: date,
    until: date,
    converter: Converter | None,
) -> Section:
    """A row a cohort (month of the first subscription) and month of age, in the report's currency, else the tenant's.

    Cohorts that began before the period are left out, as their first months aren't in it. A cohort is paid back in the first month in
    which its cumulative contribution for each original user reaches the acquisition cost of its plans (mean over its users).
    """
    starts = [first, *(day for day in query.days() if day.day == 1 and first < day < until)]
    months = read_months(connection, context, query, members, starts, until, converter)
    rows: list[Row] = []
    for cohort, users in sorted(members.items()):
        rows += _rows(cohort, list(users), acquired(users, context, converter), starts, months)
    currency = query.currency or context.billing_currency
    note = (
        f"Cohorts that began in the period, {currency}. Contribution: net revenue less usage cost and payment fees. per_user_low and "
        f"per_user_high: {LEVEL} % percentile bootstrap of cumulative_per_user over the cohort's users."
    )
    return Section("cohorts", "Cohorts and payback", COLUMNS, tuple(rows), note)


def _rows(
    cohort: date, users: Sequence[str], costs: Sequence[Decimal | None], starts: Sequence[date], months: Months
) -> list[Row]:
    known = [cost for cost in costs if cost is not None]
    needed = sum((Fraction(cost) for cost in known), Fraction(0)) / len(users) if len(known) == len(users) else None
    lived = [number for number, start in enumerate(starts) if _age(cohort, start) >= 0]
    sums = {number: _sum(users, number, months) for number in lived}
    cumulative = list(accumulate(sums[number].contribution for number in lived))
    between = mean_intervals(
        [list(accumulate(months.get((user, number), _NOTHING).contribution for number in lived)) for user in users]
    )
    rows: list[Row] = []
    paid_back = False
    for place, number in enumerate(lived):
        one, total = sums[number], cumulative[place]
        each = Fraction(total, len(users) * 10**18)
        now = needed is not None and not paid_back and each >= needed
        paid_back = paid_back or now
        rows.append(
            {
                "cohort": f"{cohort:%Y-%m}",
                "age_months": _age(cohort, starts[number]),
                "users": len(users),
                "net_revenue": from_stored(one.net),
                "cost": from_stored(one.cost + one.fees),
                "contribution": from_stored(one.contribution),
                "cumulative_contribution": from_stored(total),
                "cumulative_per_user": rounded_to(each),
                **_edges(between[place] if between else None),
                "acquisition_cost_per_user": rounded_if_known(needed),
                "paid_back": "in this month" if now else "yes" if paid_back else "no" if needed is not None else "",
                "note": _note(len(users), needed),
            }
        )
    return rows


def _age(cohort: date, start: date) -> int:
    return (start.year - cohort.year) * 12 + start.month - cohort.month


def _sum(users: Sequence[str], number: int, months: Months) -> Month:
    found = [months.get((user, number), _NOTHING) for user in users]
    return Month(sum(one.net for one in found), sum(one.fees for one in found), sum(one.cost for one in found))


def _edges(between: Interval | None) -> Mapping[str, Decimal | None]:
    edges = (None, None) if between is None else (between.low, between.high)
    return {
        name: None if edge is None else rounded_to(Fraction(edge) / 10**6)
        for name, edge in zip(("per_user_low", "per_user_high"), edges, strict=True)
    }


def _note(count: int, needed: Fraction | None) -> str:
    notes = [f"users: {count}, fewer than {FEWEST}: no interval"] if count < FEWEST else []
    return "; ".join(notes + (["no acquisition cost is known"] if needed is None else []))
