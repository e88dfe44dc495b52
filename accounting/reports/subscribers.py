"""What can be said of a plan from its subscribers: who loses money, how much use it bears, and which cap would hold? Pure.

Amounts are whole numbers of 10^-18 currency units. A subscriber's cost follows its use in proportion: half the use is half the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Unit = Literal["requests", "tokens"]
UNITS: tuple[Unit, ...] = ("requests", "tokens")
NO_CAP_NEEDED = "no cap needed"
NO_CAP_HELPS = "no cap helps"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """One user on one plan over a period.

    Attributes:
        net: revenue after discounts and refunds. fees: payment fees. cost: of use.
        requests, tokens: use. days: on which a subscription ran.
        unpaid: comped | trial where no day was to be paid for; '' else.
        known: whether all cost is known; unpriced use costs nothing here and is not 0.
    """

    user_id: str
    net: int
    fees: int
    cost: int
    requests: int
    tokens: int
    unpaid: str
    days: int
    known: bool = True

    @property
    def margin(self) -> int:
        return self.net - self.fees - self.cost

    def use(self, unit: Unit) -> int:
        """How much was used."""
        return self.requests if unit == "requests" else self.tokens

    def bears(self, unit: Unit) -> int | None:
        """The largest whole use that the net revenue less fees pays for; None: all of its own and more; -1: not even none."""
        budget = self.net - self.fees
        if budget >= self.cost:
            return None
        if budget < 0:
            return -1
        return budget * self.use(unit) // self.cost


@dataclass(frozen=True)
class Cap:
    """A cap on a period's use. Attributes: limit: None where `note` says why there is none."""

    limit: int | None
    note: str = ""


def cap(subscribers: Sequence[Subscriber], percent: int, unit: Unit) -> Cap:
    """The largest use u such that `percent` of the subscribers have net revenue, less fees, of at least the cost of min(use, u).

    Comped subscribers and those on trial are left out: no cap makes them pay.
    """
    counted = [one.bears(unit) for one in subscribers if not one.unpaid]
    if not counted:
        return Cap(None, NO_CAP_NEEDED)
    # Best first; None bears everything.
    ordered = sorted(counted, key=lambda bears: (bears is not None, -(bears or 0)))
    worst = ordered[-(-len(ordered) * percent // 100) - 1]
    if worst is None:
        return Cap(None, NO_CAP_NEEDED)
    return Cap(None, NO_CAP_HELPS) if worst < 0 else Cap(worst)


@dataclass(frozen=True)
class BreakEven:
    """The use at which an average subscriber earns nothing.

    Attributes:
        use: units in the period; None: nothing was used or nothing cost, or none is small enough, as more was given back than paid.
        unit_cost: 10^-18 currency units for one unit, the plan's blend.
        above: subscribers who use more.
    """

    use: Fraction | None
    unit_cost: Fraction | None
    above: int


def break_even(subscribers: Sequence[Subscriber], unit: Unit) -> BreakEven:
    """U* = (net revenue - payment fees) per subscriber / blended cost per unit, comped ones and trials left out of the revenue side."""
    payers = [one for one in subscribers if not one.unpaid]
    used, cost = sum(one.use(unit) for one in subscribers), sum(one.cost for one in subscribers)
    if not payers or not used or not cost:
        return BreakEven(None, Fraction(cost, used) if used else None, 0)
    each = Fraction(sum(one.net - one.fees for one in payers), len(payers))
    unit_cost = Fraction(cost, used)
    if each < 0:
        return BreakEven(None, unit_cost, 0)
    use = each / unit_cost
    return BreakEven(use, unit_cost, sum(one.use(unit) > use for one in subscribers))


def losing(subscribers: Sequence[Subscriber]) -> list[Subscriber]:
    """Those with a negative margin, the largest loss first."""
    return sorted((one for one in subscribers if one.margin < 0), key=lambda one: (one.margin, one.user_id))
