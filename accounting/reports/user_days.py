"""What did each of some users' requests cost day by day?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Engine, text

from accounting.errors import InvalidInput
from accounting.pricing.currency import rounded
from accounting.reports.convert import Converter
from accounting.reports.period_days import period_days
from accounting.reports.query import ReportQuery
from accounting.reports.statement_lines import USER_FACING
from accounting.reports.sums import Sums, measures
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

COST = ("effective_cost",)
MOST_USERS, MOST_DAYS = 200, 400
_DAYS = text(
    f"""
    SELECT user_id, billing_currency, day, charge_status, {measures(COST)}
    FROM rollup_user_day
    WHERE tenant = :tenant AND day >= :first AND day < :until AND purpose = ANY(:user_facing) AND user_id = ANY(:users)
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3
    """
)


@dataclass(frozen=True)
class UserDays:
    """One user's days in one currency.

    Attributes:
        effective_cost: one amount a day; 0 without usage, None where there is usage and none of it is priced.
        events: requests a day.
    """

    user_id: str
    billing_currency: str
    effective_cost: list[Decimal | None]
    events: list[int]


def user_days(
    engine: Engine, context: TenantContext, query: ReportQuery, users: Sequence[str]
) -> tuple[list[date], list[UserDays]]:
    """The reporting days of the period, and the users' own requests (as in the report `margin`) on each, by user and currency.

    A user without any has no line. With `currency` each day is converted at its rate and rounded once, to 18 decimals. Raises InvalidInput
    in another zone than the tenant's, for more than MOST_USERS users or MOST_DAYS days, MissingRate for a day without a rate.
    """
    first, until = period_days(query, context)
    if len(users) > MOST_USERS:
        raise InvalidInput("user_id", len(users), f"at most {MOST_USERS} users are told at once")
    days = query.days()
    if len(days) > MOST_DAYS:
        raise InvalidInput("to", until.isoformat(), f"at most {MOST_DAYS} days are told at once")
    place = {day: number for number, day in enumerate(days)}
    asked = {
        "tenant": context.tenant,
        "first": first,
        "until": until,
        "user_facing": list(USER_FACING),
        "users": list(users),
    }
    with read_only(engine, context.tenant) as connection:
        found: Sequence[Any] = connection.execute(_DAYS, asked).all()
        if query.currency is not None:
            found = converted(connection, query.currency, found)
    sums: defaultdict[tuple[str, str], list[Sums]] = defaultdict(lambda: [Sums(COST) for _ in days])
    for row in found:
        sums[row.user_id, row.billing_currency][place[row.day]].add(row)
    return days, [
        UserDays(
            user,
            currency,
            [rounded_cost(day) for day in own],
            [sum(day.events.values()) for day in own],
        )
        for (user, currency), own in sums.items()
    ]


def converted(connection: Connection, to_currency: str, rows: Sequence[Any]) -> list[Any]:
    """Rows of one day each (`day`, billing_currency, effective_cost) in one currency, not yet rounded."""
    amounts = {(row.day, row.billing_currency): row.effective_cost for row in rows if row.effective_cost}
    return Converter.read(connection, to_currency, {"effective_cost": amounts}).by_day(rows, "effective_cost")


def rounded_cost(sums: Sums) -> Decimal | None:
    """The effective cost, rounded once to 18 decimals; None where nothing of it is priced."""
    cost = sums.cost("effective_cost")
    return None if cost is None else rounded(cost)
