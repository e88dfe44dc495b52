"""What does one line of a margin report hold: revenue by kind, cost by component, and the margins between them?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from accounting.reports.base import Column, Row
from accounting.reports.earnings import FEE, Earning
from accounting.reports.exact import ZERO, from_stored, minus, percent, plus, total
from accounting.reports.margin_data import COMPONENTS, COST
from accounting.reports.statement_lines import FREE_TIER
from accounting.reports.sums import Sums
from accounting.revenue.earned import GROSS

REVENUE = ("gross_revenue", "discounts", "refunds")
COSTS = tuple(f"{name}_cost" for name in COMPONENTS)
MONEY = (
    *(Column(name, "money") for name in REVENUE),
    Column("net_revenue", "money", plus=REVENUE),
    *(Column(name, "money") for name in COSTS),
    Column("payment_fees", "money"),
    Column("gross_margin", "money", plus=REVENUE, minus=(*COSTS, "payment_fees")),
    Column("gross_margin_pct", "percent"),
    Column("contribution_margin", "money", plus=REVENUE, minus=(*COSTS[:-1], "payment_fees")),
    Column("contribution_margin_pct", "percent"),
    Column("free_tier_cost", "money", table=False),
    Column("off_statement_cost", "money", table=False),
    Column("events", "count"),
    *(Column(name, "count", table=False) for name in ("unpriced_events", "pending_events", "tokens")),
)


Part = tuple[str, bool, bool]


class MarginSums:
    """Sums of one line, one currency.

    Attributes:
        revenue: by column of REVENUE; fees: whole numbers of 10^-18 currency units.
        parts: (component, whether of purposes free and trial, whether the purpose policy counts it as cost of revenue) -> sums of
            such ledger lines.
    """

    def __init__(self) -> None:
        self.revenue = dict.fromkeys(REVENUE, 0)
        self.fees = 0
        self.parts: defaultdict[Part, Sums] = defaultdict(_no_sums)

    def earn(self, one: Earning, amount: int | None = None) -> None:
        """Adds revenue, or a payment fee, or `amount` of it."""
        value = one.amount if amount is None else amount
        if one.kind == FEE:
            self.fees += value
        else:
            self.revenue["gross_revenue" if one.kind in GROSS else f"{one.kind}s"] += value

    def spend(self, row: Any, on_statement: bool) -> None:
        """Adds one aggregated row of the ledger."""
        self.parts[row.component, row.purpose in FREE_TIER, on_statement].add(row)

    def merge(self, other: MarginSums) -> None:
        """Adds another line of the same currency."""
        for name in REVENUE:
            self.revenue[name] += other.revenue[name]
        self.fees += other.fees
        for part, sums in other.parts.items():
            self.parts[part].merge(sums)

    def free_tier_out(self) -> MarginSums:
        """The same without what purposes free and trial used and cost."""
        return self._keeping(lambda part: not part[1])

    def by_policy(self) -> MarginSums:
        """The same without what the purpose policy puts on another line than cost of revenue."""
        return self._keeping(lambda part: part[2])

    @property
    def net(self) -> int:
        """Net revenue, whole number of 10^-18 currency units."""
        return sum(self.revenue.values())

    @property
    def known(self) -> bool:
        """Whether any of its usage is priced, or it has none."""
        return self.cost() is not None

    def cost(self) -> Decimal | None:
        """Usage cost of all components; None where there is usage and none of it is priced."""
        return self._together(lambda _: True).cost("effective_cost")

    def row(self) -> Row:
        """The columns of MONEY."""
        every = self._together(lambda _: True)
        known = every.cost("effective_cost") is not None
        costs = {f"{name}_cost": self._of(name) if known else None for name in COMPONENTS}
        net, fees = from_stored(self.net), from_stored(self.fees)
        gross = _less(net, [*costs.values(), fees])
        contribution = _less(net, [*(costs[name] for name in COSTS[:-1]), fees])
        return {
            **{name: from_stored(amount) for name, amount in self.revenue.items()},
            "net_revenue": net,
            **costs,
            "payment_fees": fees,
            "gross_margin": gross,
            "gross_margin_pct": None if gross is None else percent(gross, net),
            "contribution_margin": contribution,
            "contribution_margin_pct": None if contribution is None else percent(contribution, net),
            "free_tier_cost": self._together(lambda part: part[1]).cost("effective_cost"),
            "off_statement_cost": self._together(lambda part: not part[2]).cost("effective_cost"),
            **every.counts(),
        }

    def _of(self, component: str) -> Decimal:
        return self._together(lambda part: part[0] == component).costs["effective_cost"]

    def _together(self, wanted: Callable[[Part], bool]) -> Sums:
        every = Sums(COST)
        for part, sums in self.parts.items():
            if wanted(part):
                every.merge(sums)
        return every

    def _keeping(self, wanted: Callable[[Part], bool]) -> MarginSums:
        kept = MarginSums()
        kept.merge(self)
        for part in [part for part in kept.parts if not wanted(part)]:
            del kept.parts[part]
        return kept


def cost_of(row: Row) -> Decimal:
    """Usage cost and fees of a row; what is not known counts nothing here, coverage tells how much that is."""
    return plus(total(row[name] or ZERO for name in COSTS), row["payment_fees"])


def _no_sums() -> Sums:
    return Sums(COST)


def _less(net: Decimal, costs: list[Decimal | None]) -> Decimal | None:
    left = net
    for cost in costs:
        if cost is None:
            return None
        left = minus(left, cost)
    return left
