"""Which users does an account have in a part of the period, and how many requests did each make?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import pairwise

from sqlalchemy import Connection, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, DATE, TEXT

from accounting.reports.account_split import split_accounts
from accounting.reports.earnings import Earning
from accounting.reports.statement_lines import USER_FACING
from accounting.revenue.account_rules import AccountRules
from accounting.revenue.monthly import Subscription
from accounting.tenant import TenantContext

_REQUESTS = text(
    """
    SELECT width_bucket(day, (SELECT :starts)) - 1 AS part, account_id, user_id, sum(events)::bigint AS requests FROM rollup_user_day
    WHERE tenant = :tenant AND day >= :first AND day < :until AND account_id = ANY(:accounts) AND user_id <> ''
      AND purpose = ANY(:purposes) GROUP BY 1, 2, 3 HAVING sum(events) > 0
    """
).bindparams(
    bindparam("starts", type_=ARRAY(DATE)),
    bindparam("accounts", type_=ARRAY(TEXT)),
    bindparam("purposes", type_=ARRAY(TEXT)),
)


_ACCOUNTS = text(
    """
    SELECT account_id FROM rollup_user_day
    WHERE tenant = :tenant AND user_id = :user AND day >= :first AND day < :until AND account_id <> ''
    UNION SELECT account_id FROM subscriptions
    WHERE tenant = :tenant AND user_id = :user AND starts_on < :until AND (ends_on IS NULL OR ends_on > :first) AND account_id IS NOT NULL
    ORDER BY 1
    """
)


def accounts_of_user(
    connection: Connection, context: TenantContext, user_id: str, first: date, until: date
) -> list[str]:
    """Accounts whose revenue may reach a user on the days [first, until): it made requests for them or holds a subscription of them."""
    asked = {"tenant": context.tenant, "user": user_id, "first": first, "until": until}
    return list(connection.execute(_ACCOUNTS, asked).scalars())


def reach_users(
    connection: Connection,
    context: TenantContext,
    earnings: Iterable[Earning],
    rules: AccountRules,
    subscriptions: Sequence[Subscription],
    starts: Sequence[date],
    until: date,
) -> list[Earning]:
    """The earnings, those of an account alone shared out among its users by the rule of their part.

    Args:
        starts: first day of each part of the period; until: first day after the last.
    """
    found = list(earnings)
    in_force = [rules.on(day) for day in starts]
    accounts = {
        one.account_id for one in found if one.account_id and not one.user_id and in_force[one.part] != "account"
    }
    if not accounts:
        return found
    requests: defaultdict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for part, (start, end) in enumerate(pairwise([*starts, until])):
        for one in subscriptions:
            if one.account_id in accounts and one.starts_on < end and (one.ends_on is None or one.ends_on > start):
                requests[part, one.account_id][one.user_id] = 0
    asked = {"tenant": context.tenant, "first": starts[0], "until": until, "starts": list(starts)}
    for row in connection.execute(_REQUESTS, asked | {"accounts": sorted(accounts), "purposes": list(USER_FACING)}):
        requests[row.part, row.account_id][row.user_id] = row.requests
    return list(split_accounts(found, in_force, requests))
