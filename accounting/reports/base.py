"""What does every report answer with, whatever it was asked?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from accounting.reports import render
from accounting.reports.query import ReportQuery

if TYPE_CHECKING:
    from accounting.reports.convert import Conversion

Kind = Literal["text", "count", "money", "percent", "number"]
Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One column of a report.

    Attributes:
        name: key in every row.
        kind: text | count (int) | money (exact Decimal, currency units) | percent (Decimal, 4 decimals) |
            number (Decimal, a ratio or a quantity).
        table: whether the text table shows it; JSON and CSV always do.
        plus, minus: columns it is the sum and the difference of, so that printed cents foot across too; empty: none.
    """

    name: str
    kind: Kind
    table: bool = True
    plus: tuple[str, ...] = ()
    minus: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A row and the rows it is the sum of; a row without children is a detail."""

    row: Row
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Children first, then the node, as a statement prints them."""
        for child in self.children:
            yield from child.walk()
        yield self


@dataclass(frozen=True)
class Footer:
    """One line below a report.

    Attributes:
        name: what the amount is, snake_case.
        amount: exact, currency units.
        billing_currency: ISO 4217.
        note: where it comes from, or what it means when it is not 0.
    """

    name: str
    amount: Decimal
    billing_currency: str
    note: str


@dataclass(frozen=True)
class Report:
    """A finished report; the same figures whatever the format.

    Attributes:
        name: key in the registry.
        query: what was asked.
        columns: of rows and totals, in order. The first is `row`: `detail`, `subtotal`, `total`, ... A value that is not
            known is None, never 0.
        outline: totals with the rows they are sums of.
        coverage: what the amounts stand on (coverage.py).
        footer: control totals and reconciliations.
        conversions: what was converted, day by day, where one currency was asked for (convert.py).
    """

    name: str
    query: ReportQuery
    columns: tuple[Column, ...]
    outline: tuple[Node, ...]
    coverage: list[Row]
    footer: list[Footer] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """Detail rows, in order."""
        return [node.row for node in self.nodes() if node.row["row"] not in TOTALS]

    @property
    def totals(self) -> list[Row]:
        """Subtotals and totals, in order."""
        return [node.row for node in self.nodes() if node.row["row"] in TOTALS]

    @property
    def parameters(self) -> dict[str, Any]:
        """What was asked, as JSON."""
        return self.query.parameters()

    def to_json(self) -> dict[str, Any]:
        """JSON object; money and percentages are plain decimal strings of full precision."""
        return render.to_json(self)

    def to_csv(self) -> str:
        """One rectangular CSV: details, totals, coverage and footer, told apart by the column `row`; full precision."""
        return render.to_csv(self)

    def to_table(self) -> str:
        """Aligned text for people: money in cents that foot, down and across."""
        return render.to_table(self)

    def nodes(self) -> Iterator[Node]:
        """Details and totals in printing order, each total below what it is the sum of."""
        for root in self.outline:
            yield from root.walk()


TOTALS = frozenset({"subtotal", "total", "total_free_tier_in", "total_free_tier_out", "total_by_policy"})
"""Values of the column `row` that mark a sum of other rows."""
