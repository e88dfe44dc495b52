"""Do printed cents add up, down and across, with each figure within a cent of its part?"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.reports.base import Column, Node, Row
from accounting.reports.exact import total
from accounting.reports.footing import foot, printed

AMOUNTS = st.decimals(Decimal(-1000), Decimal(1000), places=15, allow_nan=False)


def test_thirds_of_a_dollar_foot_to_the_dollar() -> None:
    third = Decimal("0.333333333333333")
    assert foot(100, [third, third, third]) == [34, 33, 33]


def test_zero_prints_as_zero() -> None:
    assert foot(2, [Decimal(0), Decimal("0.016"), Decimal(0)]) == [0, 2, 0]


def test_a_correction_keeps_its_sign() -> None:
    assert foot(100, [Decimal("1.504"), Decimal("-0.501")]) == [150, -50]
    assert foot(-50, [Decimal("-0.25"), Decimal("-0.25")]) == [-25, -25]


def test_nothing_but_zeros_foots_to_zero() -> None:
    assert foot(0, [Decimal(0), Decimal(0)]) == [0, 0]


def test_digits_below_a_minor_unit_break_a_tie() -> None:
    for amount, cents in [
        ("0.005", 0),
        ("0.005000000000000001", 1),
        ("-0.005", 0),
        ("-0.005000000000000001", -1),
        ("0.015", 2),
    ]:
        ((_, found),) = printed([Node({"row": "total", "a": Decimal(amount)})], (Column("a", "money"),))
        assert found == {"a": cents}


def _node(kind: str, cells: list[Decimal | None], children: tuple[Node, ...] = ()) -> Node:
    known = [cell for cell in cells if cell is not None]
    row: Row = {"row": kind, "a": cells[0], "b": cells[1], "sum": total(known) if known else None}
    return Node(row, children)


COLUMNS = (Column("row", "text"), Column("a", "money"), Column("b", "money"), Column("sum", "money", plus=("a", "b")))


@given(st.lists(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=5), min_size=1, max_size=4))
def test_statements_foot_down_and_across(groups: list[list[tuple[Decimal, Decimal]]]) -> None:
    subtotals = []
    for group in groups:
        details = tuple(_node("detail", list(cells)) for cells in group)
        subtotals.append(_node("subtotal", [total(cell[at] for cell in group) for at in (0, 1)], details))
    sums: list[Decimal | None] = [total(node.row[name] for node in subtotals) for name in ("a", "b")]
    root = _node("total", sums, tuple(subtotals))
    cents = {id(node): own for node, own in printed([root], COLUMNS)}
    for node in root.walk():
        own = cents[id(node)]
        assert own["sum"] == own["a"] + own["b"]
        for name in ("a", "b", "sum"):
            if node.children:
                assert own[name] == sum(cents[id(child)][name] for child in node.children)
    assert abs(cents[id(root)]["sum"] - 100 * root.row["sum"]) <= Decimal("0.5")


def test_an_unknown_amount_has_no_cents_and_the_rest_still_foots() -> None:
    root = _node(
        "total",
        [Decimal("0.10"), Decimal(0)],
        (_node("detail", [None, Decimal(0)]), _node("detail", [Decimal("0.10"), Decimal(0)])),
    )
    (unknown, _), (known, cents), (_, all_cents) = printed([root], COLUMNS)
    assert unknown.row["a"] is None
    assert "a" not in dict(printed([root], COLUMNS)[0][1])
    assert (known.row["a"], cents["a"], all_cents["sum"]) == (Decimal("0.10"), 10, 10)


def test_a_difference_is_of_the_printed_cents() -> None:
    columns = (
        Column("revenue", "money"),
        Column("cost", "money"),
        Column("margin", "money", plus=("revenue",), minus=("cost",)),
    )
    row: Row = {"row": "total", "revenue": Decimal("23.571"), "cost": Decimal("0.386"), "margin": Decimal("23.185")}
    ((_, cents),) = printed([Node(row)], columns)
    assert cents == {"revenue": 2357, "cost": 39, "margin": 2318}


@pytest.mark.parametrize(
    ("currency", "total", "parts"), [("JPY", 2, [1, 1]), ("USD", 150, [75, 75]), ("KWD", 1500, [750, 750])]
)
def test_a_cent_is_the_smallest_unit_of_the_currency(currency: str, total: int, parts: list[int]) -> None:
    # 1.5 half to even is 2 yen; two lines of 0.75 share them.
    detail = Node({"row": "detail", "billing_currency": currency, "cost": Decimal("0.75")})
    root = Node({"row": "total", "billing_currency": currency, "cost": Decimal("1.5")}, (detail, detail))
    lines = printed([root], [Column("cost", "money")])
    assert [cents["cost"] for _, cents in lines] == [*parts, total]
