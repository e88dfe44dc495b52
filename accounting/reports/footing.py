"""How are the cents of a printed statement chosen, so that every column and every row adds up to what stands below and beside it?

A cent is the smallest unit of the amount's currency: a hundredth of a dollar, a whole yen.

Top down: the total is rounded once, half to even. Its columns share its cents, then each column of a total is shared by the rows
it is the sum of, always by largest remainder, so that no figure is further than a cent from its part of the figure above it, and
an amount of 0 prints as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from accounting.money import CENT_SCALE, MINOR_SCALE, round_to_cents, split
from accounting.pricing.currency_codes import minor_digits
from accounting.reports.exact import STORED_SCALE, ZERO, minus, stored_units, total

if TYPE_CHECKING:
    from accounting.reports.base import Column, Node

Cents = dict[str, int]
_STORED_IN_MINOR: int = 10 ** (STORED_SCALE - MINOR_SCALE)


def printed(roots: Sequence[Node], columns: Sequence[Column]) -> list[tuple[Node, Cents]]:
    """Every node in printing order with its money columns in cents; an unknown amount has no entry."""
    lines: list[tuple[Node, Cents]] = []
    for root in roots:
        digits = cent_digits(root.row)
        _print(root, _root_cents(root, columns, digits), columns, lines, digits)
    return lines


def cent_digits(row: Mapping[str, Any]) -> int:
    """Decimals of the smallest unit of a row's currency; 2 where it has none that ISO 4217 lists."""
    return minor_digits().get(row.get("billing_currency", ""), CENT_SCALE)


def _print(node: Node, cents: Cents, columns: Sequence[Column], lines: list[tuple[Node, Cents]], digits: int) -> None:
    shared: list[Cents] = [{} for _ in node.children]
    for column in columns:
        known = [at for at, child in enumerate(node.children) if child.row[column.name] is not None]
        if column.kind == "money" and column.name in cents and known and not _derived(column):
            parts = foot(cents[column.name], [node.children[at].row[column.name] for at in known], digits)
            for at, part in zip(known, parts, strict=True):
                shared[at][column.name] = part
    for child, own in zip(node.children, shared, strict=True):
        _print(child, own, columns, lines, digits)
    lines.append((node, cents | _across(cents, columns)))


def _root_cents(root: Node, columns: Sequence[Column], digits: int) -> Cents:
    """A total's own columns: shares of the column that is their sum where there is one, else each rounded by itself."""
    cents: Cents = {}
    for column in columns:
        amount = root.row[column.name] if column.kind == "money" else None
        if amount is not None and not _derived(column):
            cents[column.name] = _rounded(amount, digits)
    for column in columns:
        if column.plus and not column.minus and root.row[column.name] is not None:
            names = [name for name in column.plus if root.row[name] is not None]
            parts = foot(_rounded(root.row[column.name], digits), [root.row[name] for name in names], digits)
            cents |= dict(zip(names, parts, strict=True))
    return cents


def _across(cents: Cents, columns: Sequence[Column]) -> Cents:
    """Derived columns, from the cents already chosen; left out where one of a difference's sides is unknown."""
    found: Cents = {}
    for column in columns:
        if not _derived(column) or (column.minus and not all(name in cents for name in (*column.plus, *column.minus))):
            continue
        if any(name in cents for name in column.plus):
            found[column.name] = sum(cents.get(name, 0) for name in column.plus) - sum(
                cents[name] for name in column.minus
            )
    return found


def foot(target: int, amounts: Sequence[Decimal], digits: int = CENT_SCALE) -> list[int]:
    """Cents for amounts that add up to `target` cents, which is within a cent or so of their sum.

    Negative amounts share their own rounded total and the others what then is left, so that no amount changes its sign.
    """
    units = [stored_units(amount) for amount in amounts]
    ids = [f"{at:09d}" for at in range(len(units))]
    gains, losses = [max(unit, 0) for unit in units], [max(-unit, 0) for unit in units]
    lost = _rounded(total(minus(ZERO, amount) for amount in amounts if amount < 0), digits)
    gained = target + lost
    if gained < 0 or not any(gains):
        gained, lost = 0, -target
    return [plus - minus for plus, minus in zip(_shares(gained, gains, ids), _shares(lost, losses, ids), strict=True)]


def _rounded(amount: Decimal, digits: int) -> int:
    """Whole cents, half to even, of an amount with up to 18 decimals; what is below a minor unit can only break a tie."""
    minor, rest = divmod(stored_units(amount), _STORED_IN_MINOR)
    cent: int = 10 ** (MINOR_SCALE - digits)
    tie = 2 * (minor % cent) == cent
    return round_to_cents(minor + 1 if rest and tie else minor, digits)


def _shares(cents: int, weights: list[int], ids: list[str]) -> list[int]:
    return split(cents, weights, ids) if any(weights) else [0] * len(weights)


def _derived(column: Column) -> bool:
    return bool(column.plus or column.minus)
