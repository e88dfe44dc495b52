"""On how many days of a period is a user on a plan, and is any of them paid for? Subscriptions that overlap are one subscriber. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from accounting.revenue.monthly import Subscription


@dataclass(frozen=True)
class Subscribed:
    """One user on one plan.

    Attributes:
        days: of the period on which at least one subscription ran, trials among them.
        unpaid: '' where some day is paid for, whatever the price; else trial where one of the subscriptions will be, or comped.
    """

    days: int
    unpaid: str


def subscribed(found: Iterable[Subscription], first: date, until: date) -> dict[tuple[str, str], Subscribed]:
    """(plan, user) -> how the user was on the plan on the days [first, until), of subscriptions that touch them."""
    own: defaultdict[tuple[str, str], list[Subscription]] = defaultdict(list)
    for one in found:
        own[one.plan, one.user_id].append(one)
    return {key: Subscribed(_days(mine, first, until), _unpaid(mine, first, until)) for key, mine in own.items()}


def _days(mine: Iterable[Subscription], first: date, until: date) -> int:
    days, reached = 0, first
    for since, to in sorted((one.starts_on, one.ends_on or date.max) for one in mine):
        begin, end = max(since, reached), min(to, until)
        if begin < end:
            days += (end - begin).days
            reached = end
    return days


def _unpaid(mine: Iterable[Subscription], first: date, until: date) -> str:
    unpaid = "comped"
    for one in mine:
        if not one.comped:
            opened = max(one.starts_on, one.trial_until or one.starts_on, first)
            if opened < min(one.ends_on or date.max, until):
                return ""
            unpaid = "trial"
    return unpaid
