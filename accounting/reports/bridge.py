"""Why did gross margin change between two periods? Sequential substitution, one factor after another, in a fixed order. Pure.

Revenue = sum over plans of N * w_p * r_p; cost = sum of N * w_p * I_p * S_ps * P_ps: users N, plan mix w, net revenue per user r, tokens
per user I, share S of a model's token type in a plan's tokens, unit price P. Each step replaces one factor by its new value and keeps those
replaced before, so the steps add up to the change exactly; another order would cut it otherwise, so the order is part of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

Sku = tuple[str, str]
"""(model, token type)."""
ZERO = Fraction(0)
STEPS = (
    "users",
    "plan_mix",
    "net_price",
    "intensity",
    "model_and_token_mix",
    "unit_price",
    "new_and_discontinued",
    "not_by_token",
    "payment_fees",
    "unmatched",
    "credits",
    "fx",
    "idle",
)
"""The order in which factors are replaced, and the bars after them."""
BARS = STEPS[7:]


@dataclass(frozen=True)
class Cell:
    """Use of one model's token type on one plan. Attributes: tokens; cost: currency units."""

    tokens: int
    cost: Fraction


@dataclass(frozen=True)
class PlanSide:
    """A plan in one period. Attributes: users: average subscribers; revenue: net; cells: by model and token type."""

    users: Fraction
    revenue: Fraction
    cells: Mapping[Sku, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """One period.

    Attributes:
        plans: by key. bars: name of BARS -> (revenue, cost) that no factor explains.
        fx: plan -> the part of the bar `fx` that is its revenue's.
    """

    plans: Mapping[str, PlanSide]
    bars: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    fx: Mapping[str, Fraction] = field(default_factory=dict)

    def revenue(self) -> Fraction:
        """Net revenue of everything."""
        return sum((one.revenue for one in self.plans.values()), ZERO) + sum(
            (bar[0] for bar in self.bars.values()), ZERO
        )

    def cost(self) -> Fraction:
        """Cost of everything."""
        cells = (cell.cost for one in self.plans.values() for cell in one.cells.values())
        return sum(cells, ZERO) + sum((bar[1] for bar in self.bars.values()), ZERO)


@dataclass(frozen=True)
class Step:
    """What one factor changed. Attributes: revenue, cost: their change; margin: revenue less cost."""

    name: str
    revenue: Fraction
    cost: Fraction

    @property
    def margin(self) -> Fraction:
        return self.revenue - self.cost


def bridge(before: Side, after: Side) -> list[Step]:
    """Steps from one period to the next, in the order of STEPS; revenue, cost and margin each add up to their change exactly.

    Plans without users in one of the periods, and models that only one of them used, stand in `new_and_discontinued`: they have no
    former price. A token type new to a plan has its own price as the former one, so that its cost is mix. Cost without tokens is
    `not_by_token`.
    """
    plans = [plan for plan in before.plans if _lives(before, plan) and _lives(after, plan)]
    models = _models(before, plans) & _models(after, plans)
    old, new = ({plan: _factors(side.plans[plan], models) for plan in plans} for side in (before, after))
    for plan in plans:
        _complete(old[plan], new[plan])
    steps = _chain(old, new)
    explained = [sum((step.revenue for step in steps), ZERO), sum((step.cost for step in steps), ZERO)]
    bars = {name: _bar(before, after, name) for name in BARS}
    loose = _loose(after, plans, models) - _loose(before, plans, models)
    bars["not_by_token"] = Step("not_by_token", bars["not_by_token"].revenue, bars["not_by_token"].cost + loose)
    for step in bars.values():
        explained = [explained[0] + step.revenue, explained[1] + step.cost]
    rest = Step(
        "new_and_discontinued",
        after.revenue() - before.revenue() - explained[0],
        after.cost() - before.cost() - explained[1],
    )
    return [*steps, rest, *bars.values()]


@dataclass
class _Factors:
    users: Fraction
    price: Fraction
    intensity: Fraction
    shares: dict[Sku, Fraction]
    rates: dict[Sku, Fraction]


def _lives(side: Side, plan: str) -> bool:
    return plan in side.plans and side.plans[plan].users > 0


def _models(side: Side, plans: list[str]) -> set[str]:
    return {model for plan in plans for (model, _), cell in side.plans[plan].cells.items() if cell.tokens}


def _factors(side: PlanSide, models: set[str]) -> _Factors:
    cells = {sku: cell for sku, cell in side.cells.items() if sku[0] in models and cell.tokens}
    tokens = sum(cell.tokens for cell in cells.values())
    return _Factors(
        side.users,
        side.revenue / side.users,
        tokens / side.users,
        {sku: Fraction(cell.tokens, tokens) for sku, cell in cells.items()},
        {sku: cell.cost / cell.tokens for sku, cell in cells.items()},
    )


def _complete(old: _Factors, new: _Factors) -> None:
    """Gives each side what it lacks: the shares of a period without tokens are the other's, a price that was not paid is too."""
    for side, other in ((old, new), (new, old)):
        if not side.shares:
            side.shares = dict(other.shares)
        for sku, rate in other.rates.items():
            side.rates.setdefault(sku, rate)
            side.shares.setdefault(sku, ZERO)


def _chain(old: dict[str, _Factors], new: dict[str, _Factors]) -> list[Step]:
    users = [sum((one.users for one in side.values()), ZERO) for side in (old, new)]
    names = STEPS[:6]
    totals = []
    for done in range(len(names) + 1):
        replaced = set(names[:done])

        def of(name: str, plan: str, value: Callable[[_Factors], Fraction], done: set[str] = replaced) -> Fraction:
            return value((new if name in done else old)[plan])

        revenue = cost = ZERO
        for plan in old:
            total = users["users" in replaced]
            mix = of("plan_mix", plan, lambda one: one.users) / users["plan_mix" in replaced]
            revenue += total * mix * of("net_price", plan, lambda one: one.price)
            shares = (new if "model_and_token_mix" in replaced else old)[plan].shares
            rates = (new if "unit_price" in replaced else old)[plan].rates
            blend = sum((share * rates[sku] for sku, share in shares.items()), ZERO)
            cost += total * mix * of("intensity", plan, lambda one: one.intensity) * blend
        totals.append((revenue, cost))
    return [
        Step(name, after[0] - before[0], after[1] - before[1])
        for name, (before, after) in zip(names, pairwise(totals), strict=True)
    ]


def _bar(before: Side, after: Side, name: str) -> Step:
    old, new = before.bars.get(name, (ZERO, ZERO)), after.bars.get(name, (ZERO, ZERO))
    return Step(name, new[0] - old[0], new[1] - old[1])


def _loose(side: Side, plans: list[str], models: set[str]) -> Fraction:
    """Cost of known plans and models that no tokens stand for."""
    return sum(
        (
            cell.cost
            for plan in plans
            for (model, _), cell in side.plans[plan].cells.items()
            if model in models and not cell.tokens
        ),
        ZERO,
    )
