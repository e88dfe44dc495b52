"""Does account revenue reach users by the rule of its part of the period, to the last digit?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.reports.account_split import split_accounts
from accounting.reports.earnings import Earning

REQUESTS = {(0, "acme"): {"ann": 1, "bob": 0, "cyd": 3}, (1, "acme"): {"bob": 2}}


def _of(amount: int, user: str | None = None, part: int = 0, account: str | None = "acme") -> Earning:
    return Earning("subscription", amount, "USD", user, account, "team", part)


def _split(rules: list[str], *earnings: Earning) -> list[tuple[str | None, int]]:
    return [(one.user_id, one.amount) for one in split_accounts(earnings, rules, REQUESTS)]


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("account", [(None, 10)]),
        # A third each, 3.33: the unit left over goes to the smallest id.
        ("seats", [("ann", 4), ("bob", 3), ("cyd", 3)]),
        # A quarter and three: 2.5 and 7.5, ties to the smaller id; bob made none.
        ("use", [("ann", 3), ("cyd", 7)]),
    ],
)
def test_ten_units_of_an_account_by_each_rule(rule: str, parts: list[tuple[str | None, int]]) -> None:
    assert _split([rule], _of(10)) == parts


def test_each_part_of_the_period_has_its_own_rule_and_users() -> None:
    assert _split(["account", "use"], _of(10), _of(10, part=1)) == [(None, 10), ("bob", 10)]


def test_what_a_user_or_nobody_is_named_for_stays_where_it_is() -> None:
    assert _split(["seats"], _of(5, "dan"), _of(5, account=None), _of(5, account="other")) == [
        ("dan", 5),
        (None, 5),
        (None, 5),
    ]


def test_account_and_plan_stay_on_each_users_part() -> None:
    (part, *_) = split_accounts([_of(10)], ["seats"], REQUESTS)
    assert (part.account_id, part.plan, part.kind, part.billing_currency) == ("acme", "team", "subscription", "USD")


@given(
    amount=st.integers(-(10**24), 10**24), used=st.dictionaries(st.text(min_size=1), st.integers(0, 10**6), max_size=9)
)
def test_parts_add_up_to_the_amount(amount: int, used: dict[str, int]) -> None:
    for rule in ("seats", "use"):
        found = split_accounts([_of(amount)], [rule], {(0, "acme"): used})
        assert sum(one.amount for one in found) == amount
