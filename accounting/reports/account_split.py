"""How does revenue that names an account and no user reach the account's users? By the tenant's dated rule, to the last digit. Pure.

account: it stays on the account's row. seats: equally among the users that the account has: those who hold a subscription of it or made
requests for it. use: in proportion to their requests. What has nobody to go to stays on the account's row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from accounting.money import split
from accounting.reports.earnings import Earning

Requests = Mapping[tuple[int, str], Mapping[str, int]]
"""(part of the period, account) -> user -> requests in that part; a user with a seat and no request has 0."""


def split_accounts(earnings: Iterable[Earning], rules: Sequence[str], requests: Requests) -> Iterator[Earning]:
    """Every earning, those of an account alone cut into its users' parts, which add up to it exactly (largest remainder, ties by id).

    Args:
        rules: account | seats | use, in force in each part of the period.
    """
    for one in earnings:
        if one.user_id or not one.account_id or rules[one.part] == "account":
            yield one
            continue
        users = requests.get((one.part, one.account_id), {})
        weights = dict.fromkeys(users, 1) if rules[one.part] == "seats" else {u: n for u, n in users.items() if n > 0}
        if not weights:
            yield one
            continue
        ids = sorted(weights)
        for user, amount in zip(ids, split(one.amount, [weights[user] for user in ids], ids), strict=True):
            yield replace(one, user_id=user, amount=amount)
