"""How much revenue comes back every month? Prices for longer terms are spread over their months, comped seats count nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from accounting.errors import InvalidInput
from accounting.revenue.recognition import rounded


@dataclass(frozen=True)
class Recurring:
    """Subscriptions of one plan at one price.

    Attributes: price: minor units for `interval_months` of one seat; count: seats; comped: how many of them are given away.
    """

    plan: str
    price: int
    interval_months: int
    count: int
    comped: int = 0


def monthly_recurring(subscriptions: Iterable[Recurring]) -> dict[str, int]:
    """Plan -> recurring revenue of one month, minor units, each plan rounded half to even once a row."""
    found: dict[str, int] = {}
    for one in subscriptions:
        if not 0 <= one.comped <= one.count:
            raise InvalidInput("comped", one.comped, f"of {one.count} seats of plan {one.plan}")
        month = rounded(one.price * (one.count - one.comped), one.interval_months)
        found[one.plan] = found.get(one.plan, 0) + month
    return found
