"""Why does one user earn or lose money: margin, and what its requests cost by feature and model?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine, text

from accounting.errors import NotFound
from accounting.reports.base import Row
from accounting.reports.exact import ZERO
from accounting.reports.margin import margin_of_user
from accounting.reports.query import ReportQuery
from accounting.reports.statement_lines import USER_FACING
from accounting.reports.sums import Sums, measures
from accounting.reports.user_days import converted, rounded_cost
from accounting.storage.engine import read_only
from accounting.tenant import TenantContext

COST = ("effective_cost",)
_SPENT = text(
    f"""
    SELECT coalesce(feature, '') AS feature, model, purpose, billing_currency, charge_status, (occurred_at AT TIME ZONE :tz)::date AS day,
           {measures(COST)}
    FROM ledger
    WHERE tenant = :tenant AND user_id = :user AND occurred_at >= :since AND occurred_at < :until AND purpose = ANY(:user_facing)
    GROUP BY 1, 2, 3, 4, 5, 6
    """
)


@dataclass(frozen=True)
class OneUser:
    """Attributes: margin: the user's rows of the report `margin`, one a currency. spent: by feature, model and purpose, dearest first."""

    user_id: str
    margin: list[Row]
    spent: list[Row]


def one_user(engine: Engine, context: TenantContext, query: ReportQuery, user_id: str) -> OneUser:
    """One user of a period. Amounts of `spent` are the effective cost of its own requests and add up to the row's costs; None where
    nothing of a line is priced. With `currency` each is converted day by day and rounded once, to 18 decimals.

    Raises NotFound for a user without usage and revenue then, MissingRate for a day without a rate.
    """
    rows = margin_of_user(engine, context, query, user_id)
    if not rows:
        raise NotFound(f"user_id={user_id!r}: neither usage nor revenue in this period")
    asked = {
        "tenant": context.tenant,
        "tz": context.reporting_tz,
        "user": user_id,
        "since": query.since,
        "until": query.until,
        "user_facing": list(USER_FACING),
    }
    with read_only(engine, context.tenant) as connection:
        found: Sequence[Any] = connection.execute(_SPENT, asked).all()
        if query.currency is not None:
            found = converted(connection, query.currency, found)
    sums: defaultdict[tuple[str, ...], Sums] = defaultdict(lambda: Sums(COST))
    for row in found:
        sums[row.feature, row.model, row.purpose, row.billing_currency].add(row)
    spent = [_line(key, one) for key, one in sums.items()]
    return OneUser(user_id, rows, sorted(spent, key=_order))


def _line(key: tuple[str, ...], sums: Sums) -> Row:
    names = ("feature", "model", "purpose", "billing_currency")
    return {
        **dict(zip(names, key, strict=True)),
        "feature": key[0] or None,
        "effective_cost": rounded_cost(sums),
        **sums.counts(),
    }


def _order(row: Row) -> tuple[Any, ...]:
    cost: Decimal | None = row["effective_cost"]
    return (row["billing_currency"], cost is None, -(cost or ZERO), row["feature"] or "", row["model"], row["purpose"])
