"""How are ledger sums held while a report adds them up, and when is a cost unknown?"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from accounting.reports.exact import ZERO, plus

COSTS = ("list_cost", "contracted_cost", "effective_cost", "billed_cost")


def measures(costs: tuple[str, ...] = COSTS, *, rated: bool = False) -> str:
    """SQL of the sums of lines or of rollup rows that `Sums` adds, named as it expects them; `rated`: of cost x rate (convert.py, JOIN).

    A cost that none of the lines has adds nothing: pools have no list price, what is unpriced is told by its status.
    """
    sums = [
        "sum(events)::bigint AS events",
        "sum(uncached_input_tokens + cache_read_tokens + cache_write_tokens)::bigint AS input_tokens",
        "sum(output_tokens)::bigint AS output_tokens",
        *(f"coalesce(sum({name}{' * rate' if rated else ''}), 0) AS {name}" for name in costs),
    ]
    return ", ".join(sums)


class Sums:
    """Sums of ledger lines of one currency.

    Attributes:
        events: by charge status.
        tokens: input and output of every status.
        costs: by name, of what is priced.
    """

    __slots__ = ("costs", "events", "tokens")

    def __init__(self, costs: tuple[str, ...] = COSTS) -> None:
        self.events: dict[str, int] = {}
        self.tokens = 0
        self.costs: dict[str, Decimal] = dict.fromkeys(costs, ZERO)

    def add(self, row: Any) -> None:
        """Adds one aggregated row with charge_status and `measures`."""
        self.events[row.charge_status] = self.events.get(row.charge_status, 0) + row.events
        self.tokens += row.input_tokens + row.output_tokens
        if row.charge_status == "priced":
            for name in self.costs:
                self.costs[name] = plus(self.costs[name], getattr(row, name))

    def merge(self, other: Sums) -> None:
        """Adds the sums of other lines of the same currency."""
        for status, count in other.events.items():
            self.events[status] = self.events.get(status, 0) + count
        self.tokens += other.tokens
        for name in self.costs:
            self.costs[name] = plus(self.costs[name], other.costs[name])

    @property
    def priced(self) -> bool:
        """Whether anything has a cost; lines that cancel each other, as of a withdrawn price, leave nothing."""
        return bool(self.events.get("priced")) or any(self.costs.values())

    def cost(self, name: str) -> Decimal | None:
        """The cost; 0 where nothing was used, None where something was and none of it is priced."""
        unknown = any(count for status, count in self.events.items() if status != "priced")
        return None if unknown and not self.priced else self.costs[name]

    def counts(self) -> dict[str, int]:
        """The count columns of a report row."""
        return {
            "events": sum(self.events.values()),
            "unpriced_events": self.events.get("unpriced", 0),
            "pending_events": self.events.get("pending_settlement", 0),
            "tokens": self.tokens,
        }
