"""Which users does a cohort have, and what did each bring and cost in each month of the period?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, DATE, TEXT

from accounting.pricing.currency import rounded
from accounting.reports.convert import JOIN, PARAMETERS, Converter, DayAmounts
from accounting.reports.earnings import FEE, Earnings
from accounting.reports.exact import plus, stored_units
from accounting.reports.query import ReportQuery
from accounting.reports.statement_lines import USER_FACING
from accounting.revenue.plans import running
from accounting.storage.engine import scanning
from accounting.tenant import TenantContext

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
    SELECT user_id, width_bucket(r.day, (SELECT :starts)) - 1 AS number, {cost} AS cost
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


@dataclass(slots=True)
class Month:
    """What one user brought and cost in one month, whole numbers of 10^-18."""

    net: int = 0
    fees: int = 0
    cost: int = 0

    @property
    def contribution(self) -> int:
        return self.net - self.fees - self.cost


Months = Mapping[tuple[str, int], Month]
"""(user, number of the month from 0) -> month; none where nothing was."""


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


def acquired(users: Mapping[str, Member], context: TenantContext, converter: Converter | None) -> list[Decimal | None]:
    """Acquisition cost of each user in the report's currency; None: not known."""

    def of(one: Member) -> Decimal | None:
        if converter is None or not one.acquisition_cost:
            return one.acquisition_cost
        return converter.rates[one.day, context.billing_currency].convert(one.acquisition_cost)

    return [of(one) for one in users.values()]


def read_months(
    connection: Connection,
    context: TenantContext,
    query: ReportQuery,
    members: Members,
    starts: Sequence[date],
    until: date,
    converter: Converter | None,
) -> Months:
    """Months that begin on `starts`, of all members, in the report's currency, else the tenant's alone."""
    users = {user for one in members.values() for user in one}
    if not users:
        return {}
    found: defaultdict[tuple[str, int], Month] = defaultdict(Month)
    for row in _costs(connection, context, query, starts, until, converter):
        found[row.user_id, row.number].cost = stored_units(row.cost if converter is None else rounded(row.cost))
    sold = [one for one in running(connection, context, starts[0], until) if one.user_id in users]
    earned = Earnings(connection, context, sold, starts[0], until, starts)
    for one in earned.as_billed() if converter is None else earned.converted(converter):
        if one.user_id in users and (converter is not None or one.billing_currency == context.billing_currency):
            month = found[one.user_id, one.part]
            if one.kind == FEE:
                month.fees += one.amount
            else:
                month.net += one.amount
    return found


def _costs(
    connection: Connection,
    context: TenantContext,
    query: ReportQuery,
    starts: Sequence[date],
    until: date,
    converter: Converter | None,
) -> Sequence[Any]:
    asked: dict[str, Any] = {"tenant": context.tenant, "first": starts[0], "until": until, "starts": list(starts)}
    asked |= {"purposes": list(USER_FACING)}
    typed = (bindparam("starts", type_=ARRAY(DATE)), bindparam("purposes", type_=ARRAY(TEXT)))
    if converter is None:
        sql = _COSTS.format(cost="sum(r.effective_cost)", join="", own="r.billing_currency = :currency")
        asked |= {"currency": context.billing_currency}
        with scanning(connection):
            return connection.execute(text(sql).bindparams(*typed), asked).all()
    join = JOIN.format(day_no="(r.day - CAST(:first AS date) + 1)")
    sql = _COSTS.format(cost="coalesce(sum(r.effective_cost * rate), 0)", join=join, own="true")
    asked |= converter.parameters(query.days())
    with scanning(connection):
        return connection.execute(text(sql).bindparams(*typed, *PARAMETERS), asked).all()
