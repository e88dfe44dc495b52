"""Who uses the product in the demo's month: which user has which plan, account, subscription and appetite?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from accounting.demo.figures import CLIENT_SIGMA
from accounting.demo.product import LARGEST_SEATS, OTHER_SEATS, PLANS, STAFF, TRIAL_ACTIVITY, TRIAL_USERS, Plan

JOINING_SHARE = 0.08
LEAVING_SHARE = 0.04
LARGEST = "acct-001"


@dataclass(frozen=True)
class User:
    """One person.

    Attributes:
        served: key of product.ROUTES: the plan's name, `trial` or `internal`.
        plan: None for trial users and staff.
        appetite: weight of this user's requests among those outside the largest account; inside it, among its seats.
        first_day, end_day: days of the month, from 0, half-open, on which the user is there.
    """

    user_id: str
    account_id: str | None
    served: str
    plan: Plan | None
    appetite: float
    first_day: int
    end_day: int


@dataclass(frozen=True)
class Subscription:
    """One user's plan for the days [starts_on, ends_on) of the month; renewed under another id next month."""

    subscription_id: str
    plan: Plan
    user_id: str
    account_id: str | None
    starts_on: date
    ends_on: date


def populate(rng: np.random.Generator, days: int) -> list[User]:
    """1,000 users and the staff, in a fixed order; `days` is the length of the month."""
    kinds: list[tuple[str, Plan | None, float]] = []
    for offer in PLANS:
        kinds += [(offer.name, offer, offer.activity)] * offer.users
    kinds += [("trial", None, TRIAL_ACTIVITY)] * TRIAL_USERS
    kinds += [("internal", None, 1.0)] * STAFF
    appetite = rng.lognormal(0.0, CLIENT_SIGMA, len(kinds))
    moves = rng.random(len(kinds))
    when = rng.integers(1, days, len(kinds))
    users: list[User] = []
    seats = 0
    for number, (served, plan, activity) in enumerate(kinds, start=1):
        account: str | None = None
        if served == "team":
            account = LARGEST if seats < LARGEST_SEATS else f"acct-{2 + (seats - LARGEST_SEATS) // OTHER_SEATS:03d}"
            seats += 1
        first, end = _presence(plan, account, float(moves[number - 1]), int(when[number - 1]), days)
        name = f"staff-{number:04d}" if served == "internal" else f"user-{number:04d}"
        users.append(User(name, account, served, plan, activity * float(appetite[number - 1]), first, end))
    return users


def _presence(plan: Plan | None, account: str | None, move: float, day: int, days: int) -> tuple[int, int]:
    """Some who pay join or leave within the month; the largest account stays."""
    if plan is None or plan.monthly_price == 0 or account == LARGEST:
        return 0, days
    if move < JOINING_SHARE:
        return day, days
    if move < JOINING_SHARE + LEAVING_SHARE:
        return 0, day
    return 0, days


def subscriptions(users: list[User], month: date) -> list[Subscription]:
    """What the users' plans cost them this month; trial users and staff have none."""
    return [
        Subscription(
            f"sub-{month:%Y-%m}-{user.user_id}",
            user.plan,
            user.user_id,
            user.account_id,
            month + timedelta(days=user.first_day),
            month + timedelta(days=user.end_day),
        )
        for user in users
        if user.plan is not None
    ]


def weights(users: list[User], fits: Callable[[User], bool]) -> npt.NDArray[np.float64]:
    """Shares of the users that fit, shape (len(users),), adding up to 1; 0 for the others."""
    appetites = np.array([user.appetite if fits(user) else 0.0 for user in users])
    result: npt.NDArray[np.float64] = appetites / appetites.sum()
    return result
