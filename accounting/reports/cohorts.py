"""When has a cohort of users paid back what winning it cost? Contribution by month of age, for cohorts that began in the period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, DATE, TEXT

from accounting.pricing.currency import rounded
from accounting.reports.base import Column, Row
from accounting.reports.convert import JOIN, PARAMETERS, Converter, DayAmounts
from accounting.reports.earnings import FEE, Earnings
from accounting.reports.exact import ZERO, from_stored, minus, plus
from accounting.reports.query import ReportQuery
from accounting.reports.ratios import rounded_to
from accounting.reports.sections import Section
from accounting.reports.statement_lines import USER_FACING
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
_COSTS = """
    WITH f AS (SELECT user_id, min(starts_on) AS day FROM subscriptions WHERE tenant = :tenant GROUP BY 1)
    SELECT date_trunc('month', f.day)::date AS cohort, width_bucket(r.day, (SELECT :starts)) - 1 AS number, {cost} AS cost
    FROM rollup_user_day r JOIN f USING (user_id) {join}
    WHERE r.tenant = :tenant AND r.day >= :first AND r.day < :until AND f.day >= :first AND f.day < :until
      AND r.purpose = ANY(:purposes) AND {own} AND r.charge_status = 'priced'
    GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Member:
    """One user of a cohort. Attributes: day: of the first subscription; acquisition_cost: currency units of the tenant; None: not known."""

    day: date
    acquisition_cost: Decimal | None


Members = Mapping[date, Mapping[str, Member]]
"""Cohort (first day of its month) -> user -> member."""


def read_members(connection: Connection, context: TenantContext, first: date, until: date) -> Members:
    """Cohorts that began on the days [first, until)."""
    found: defaultdict[date, dict[str, Member]] = defaultdict(dict)
    for row in connection.execute(_COHORTS, {"tenant": context.tenant, "first": first, "until": until}):
        found[row.day.replace(day=1)][row.user_id] = Member(row.day, row.acquisition_cost)
    return found


def to_acquire(members: Members, context: TenantContext) -> dict[str, DayAmounts]:
    """Acquisition costs by the day of the first subscription, to be converted at that day's rate."""
    found: defaultdict[tuple[date, str], Decimal] = defaultdict(Decimal)
    for users in members.values():
        for one in users.values():
            if one.acquisition_cost:
                key = one.day, context.billing_currency
                found[key] = plus(found[key], one.acquisition_cost)
    return {"acquisition_cost": found} if found else {}


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
    costs = _costs(connection, context, query, starts, first, until, converter)
    revenue = _revenue(connection, context, members, starts, until, converter)
    rows: list[Row] = []
    for cohort in sorted(members):
        rows += _rows(cohort, _acquired(members[cohort], context, converter), starts, revenue, costs)
    currency = query.currency or context.billing_currency
    note = f"Cohorts that began in the period, {currency}. Contribution: net revenue less usage cost and payment fees."
    return Section("cohorts", "Cohorts and payback", COLUMNS, tuple(rows), note)


def _acquired(users: Mapping[str, Member], context: TenantContext, converter: Converter | None) -> list[Decimal | None]:
    if converter is None:
        return [one.acquisition_cost for one in users.values()]
    return [
        None
        if one.acquisition_cost is None
        else converter.rates[one.day, context.billing_currency].convert(one.acquisition_cost)
        if one.acquisition_cost
        else one.acquisition_cost
        for one in users.values()
    ]


def _costs(
    connection: Connection,
    context: TenantContext,
    query: ReportQuery,
    starts: list[date],
    first: date,
    until: date,
    converter: Converter | None,
) -> dict[tuple[date, int], Decimal]:
    """(cohort, number of the month) -> usage cost."""
    asked: dict[str, Any] = {"tenant": context.tenant, "first": first, "until": until, "starts": starts}
    asked |= {"purposes": list(USER_FACING)}
    typed = (bindparam("starts", type_=ARRAY(DATE)), bindparam("purposes", type_=ARRAY(TEXT)))
    if converter is None:
        sql = _COSTS.format(cost="sum(r.effective_cost)", join="", own="r.billing_currency = :currency")
        rows = connection.execute(text(sql).bindparams(*typed), asked | {"currency": context.billing_currency})
        return {(row.cohort, row.number): row.cost for row in rows}
    join = JOIN.format(day_no="(r.day - CAST(:first AS date) + 1)")
    sql = _COSTS.format(cost="coalesce(sum(r.effective_cost * rate), 0)", join=join, own="true")
    asked |= converter.parameters(query.days())
    rows = connection.execute(text(sql).bindparams(*typed, *PARAMETERS), asked)
    return {(row.cohort, row.number): rounded(row.cost) for row in rows}


def _revenue(
    connection: Connection,
    context: TenantContext,
    members: Members,
    starts: list[date],
    until: date,
    converter: Converter | None,
) -> dict[tuple[date, int], tuple[int, int]]:
    """(cohort, number of the month) -> net revenue and payment fees, whole numbers of 10^-18."""
    cohort_of = {user: cohort for cohort, users in members.items() for user in users}
    found: defaultdict[tuple[date, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    if not cohort_of:
        return {}
    touched = [one for one in running(connection, context, starts[0], until) if one.user_id in cohort_of]
    earned = Earnings(connection, context, touched, starts[0], until, starts)
    for one in earned.as_billed() if converter is None else earned.converted(converter):
        cohort = cohort_of.get(one.user_id or "")
        if cohort is not None and (converter is not None or one.billing_currency == context.billing_currency):
            net, fees = found[cohort, one.part]
            fee = one.kind == FEE
            found[cohort, one.part] = (net + (0 if fee else one.amount), fees + (one.amount if fee else 0))
    return found


def _rows(
    cohort: date,
    acquired: list[Decimal | None],
    starts: list[date],
    revenue: dict[tuple[date, int], tuple[int, int]],
    costs: dict[tuple[date, int], Decimal],
) -> list[Row]:
    count = len(acquired)
    known = [cost for cost in acquired if cost is not None]
    needed = sum((Fraction(cost) for cost in known), Fraction(0)) / count if len(known) == count else None
    rows: list[Row] = []
    running_total, paid_back = ZERO, False
    for number, start in enumerate(starts):
        age = (start.year - cohort.year) * 12 + start.month - cohort.month
        if age < 0:
            continue
        net, fees = revenue.get((cohort, number), (0, 0))
        cost = plus(costs.get((cohort, number), ZERO), from_stored(fees))
        contribution = minus(from_stored(net), cost)
        running_total = plus(running_total, contribution)
        each = Fraction(running_total) / count
        now = needed is not None and not paid_back and each >= needed
        paid_back = paid_back or now
        rows.append(
            {
                "cohort": f"{cohort:%Y-%m}",
                "age_months": age,
                "users": count,
                "net_revenue": from_stored(net),
                "cost": cost,
                "contribution": contribution,
                "cumulative_contribution": running_total,
                "cumulative_per_user": rounded_to(each),
                "acquisition_cost_per_user": None if needed is None else rounded_to(needed),
                "paid_back": "in this month" if now else "yes" if paid_back else "no" if needed is not None else "",
                "note": _note(count, needed),
            }
        )
    return rows


def _note(count: int, needed: Fraction | None) -> str:
    notes = [f"users: {count}, fewer than {FEWEST}"] if count < FEWEST else []
    return "; ".join(notes + (["no acquisition cost is known"] if needed is None else []))
