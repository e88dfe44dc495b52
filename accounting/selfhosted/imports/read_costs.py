"""What came of reading a biller's file: costs by pool, and every row that is not one, with its amount?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from accounting.errors import InvalidInput
from accounting.money import format_exact
from accounting.selfhosted.spread import ImportedCost


@dataclass(frozen=True)
class LeftOut:
    """A readable row that is no pool's. Attributes: reason: no_pool, or why its kind of charge is no GPU time; amount: currency units."""

    line: int
    reason: str
    resource: str
    service: str
    amount: Fraction
    currency: str


@dataclass
class ReadCosts:
    """Every row of the file is in exactly one of the four lists.

    Attributes:
        costs: of pools. unused: of commitments that nobody used, by their id.
        currencies: line -> currency, of both.
        left_out: readable, of no pool. rejected: {"line", "field", "value", "reason"}.
    """

    costs: list[ImportedCost] = field(default_factory=list)
    unused: list[ImportedCost] = field(default_factory=list)
    currencies: dict[int, str] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def left_out_sums(self) -> list[dict[str, Any]]:
        """What is no pool's by reason, service and currency, so that file = bills + left out can be checked."""
        groups: dict[tuple[str, str, str], list[Fraction]] = defaultdict(list)
        for one in self.left_out:
            groups[one.reason, one.service, one.currency].append(one.amount)
        names = ("reason", "service", "currency")
        return [
            dict(zip(names, key, strict=True))
            | {"rows": len(amounts), "amount": format_exact(sum(amounts, Fraction(0)))}
            for key, amounts in sorted(groups.items())
        ]

    def reject(self, line: int, error: InvalidInput) -> None:
        """Names a row that can't be used."""
        self.rejected.append({"line": line, "field": error.field, "value": str(error.value), "reason": error.reason})
