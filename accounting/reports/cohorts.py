"""When has a cohort of users paid back what winning it cost? Contribution by month of age, for cohorts that began in the period."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, DATE, TEXT

from accounting.money import from_minor
from accounting.reports.base import Column, Row
from accounting.reports.exact import ZERO, minus, plus
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import rounded_to
from accounting.reports.sections import Section
from accounting.reports.statement_lines import USER_FACING
from accounting.revenue.earned import earned_revenue
from accounting.revenue.plans import running
from accounting.tenant import TenantContext

FEWEST = 20
COLUMNS = (
    Column("cohort", "text"),
    Column("age_months", "count"),
    Column("users", "count"),
    *(Column(name, "money") for name in ("net_revenue", "cost", "contribution", "cumulative_contribution")),
    Column("cumulative_per_user", "number"),
    Column("acquisition_cost_per_user", "number"),
    Column("paid_back", "text"),
    Column("note", "text"),
)
_COHORTS = text(
    """
    SELECT f.user_id, f.day, p.acquisition_cost FROM (
      SELECT DISTINCT ON (user_id) user_id, starts_on AS day, plan FROM subscriptions
      WHERE tenant = :tenant ORDER BY user_id, starts_on, subscription_id
    ) f JOIN plans p ON p.tenant = :tenant AND p.plan = f.plan WHERE f.day >= :first AND f.day < :until
    """
)
_COSTS = text(
    """
    WITH f AS (SELECT user_id, min(starts_on) AS day FROM subscriptions WHERE tenant = :tenant GROUP BY 1)
    SELECT date_trunc('month', f.day)::date AS cohort, width_bucket(r.day, (SELECT :starts)) AS number, sum(r.effective_cost) AS cost
    FROM rollup_user_day r JOIN f USING (user_id)
    WHERE r.tenant = :tenant AND r.day >= :first AND r.day < :until AND f.day >= :first AND f.day < :until
      AND r.purpose = ANY(:purposes) AND r.billing_currency = :currency AND r.charge_status = 'priced'
    GROUP BY 1, 2
    """
).bindparams(bindparam("starts", type_=ARRAY(DATE)), bindparam("purposes", type_=ARRAY(TEXT)))


def cohort_section(
    connection: Connection, context: TenantContext, query: ReportQuery, first: date, until: date
) -> Section:
    """A row a cohort (month of the first subscription) and month of age, in the tenant's currency.

    Cohorts that began before the period are left out, as their first months aren't in it. A cohort is paid back in the first month in
    which its cumulative contribution for each original user reaches the acquisition cost of its plans (mean over its users).
    """
    starts = [first, *(day for day in query.days() if day.day == 1 and first < day < until)]
    members: defaultdict[date, dict[str, Decimal | None]] = defaultdict(dict)
    asked: dict[str, Any] = {"tenant": context.tenant, "first": first, "until": until}
    for row in connection.execute(_COHORTS, asked):
        members[row.day.replace(day=1)][row.user_id] = row.acquisition_cost
    costs = {(row.cohort, row.number): row.cost for row in connection.execute(_COSTS, asked | _arrays(context, starts))}
    revenue = _revenue(connection, context, members, [*starts, until])
    rows: list[Row] = []
    for cohort in sorted(members):
        rows += _rows(cohort, members[cohort], starts, revenue, costs)
    note = f"Cohorts that began in the period, {context.billing_currency}. Contribution: net revenue less usage cost and payment fees."
    return Section("cohorts", "Cohorts and payback", COLUMNS, tuple(rows), note)


def _arrays(context: TenantContext, starts: list[date]) -> dict[str, Any]:
    return {"starts": starts, "purposes": list(USER_FACING), "currency": context.billing_currency}


def _revenue(
    connection: Connection, context: TenantContext, members: dict[date, dict[str, Decimal | None]], cuts: list[date]
) -> dict[tuple[date, int], tuple[int, int]]:
    """(cohort, number of the month) -> net revenue and payment fees, minor units."""
    cohort_of = {user: cohort for cohort, users in members.items() for user in users}
    found: defaultdict[tuple[date, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    if not cohort_of:
        return {}
    for number, (start, end) in enumerate(pairwise(cuts), start=1):
        touched = [one for one in running(connection, context, start, end) if one.user_id in cohort_of]
        for one in earned_revenue(connection, context, start, end, touched):
            cohort = cohort_of.get(one.user_id or "")
            if cohort is not None and one.billing_currency == context.billing_currency:
                net, fees = found[cohort, number]
                fee = one.kind == "payment_fee"
                found[cohort, number] = (net + (0 if fee else one.amount), fees + (one.amount if fee else 0))
    return found


def _rows(
    cohort: date,
    users: dict[str, Decimal | None],
    starts: list[date],
    revenue: dict[tuple[date, int], tuple[int, int]],
    costs: dict[tuple[date, int], Decimal],
) -> list[Row]:
    known = [cost for cost in users.values() if cost is not None]
    needed = sum((Fraction(cost) for cost in known), Fraction(0)) / len(users) if len(known) == len(users) else None
    rows: list[Row] = []
    running_total, paid_back = ZERO, False
    for number, start in enumerate(starts, start=1):
        age = (start.year - cohort.year) * 12 + start.month - cohort.month
        if age < 0:
            continue
        net, fees = revenue.get((cohort, number), (0, 0))
        cost = plus(costs.get((cohort, number), ZERO), from_minor(fees))
        contribution = minus(from_minor(net), cost)
        running_total = plus(running_total, contribution)
        each = Fraction(running_total) / len(users)
        now = needed is not None and not paid_back and each >= needed
        paid_back = paid_back or now
        rows.append(
            {
                "cohort": f"{cohort:%Y-%m}",
                "age_months": age,
                "users": len(users),
                "net_revenue": from_minor(net),
                "cost": cost,
                "contribution": contribution,
                "cumulative_contribution": running_total,
                "cumulative_per_user": rounded_to(each),
                "acquisition_cost_per_user": None if needed is None else rounded_to(needed),
                "paid_back": "in this month" if now else "yes" if paid_back else "no" if needed is not None else "",
                "note": _note(len(users), needed),
            }
        )
    return rows


def _note(count: int, needed: Fraction | None) -> str:
    notes = [f"users: {count}, fewer than {FEWEST}"] if count < FEWEST else []
    return "; ".join(notes + (["no acquisition cost is known"] if needed is None else []))
