"""Is a refund that gives back more than was billed refused, and one that gives back all of it not?

Invoice in_1 bills line il_1 at 30.00 less a coupon of 10.00, and line il_2 at 5.00: 25.00 in all.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.errors import InvalidInput
from accounting.money import to_minor
from accounting.revenue.recognition import Line
from accounting.revenue.refunds import Refunds


def line(name: str, kind: str, amount: str, **more: Any) -> Line:
    return Line(name, kind, to_minor(amount), more.pop("currency", "USD"), datetime(2026, 4, 1, tzinfo=UTC), **more)


BILLED = [
    line("il_1", "subscription", "30", invoice_id="in_1"),
    line("il_1:discount:1", "discount", "-10", invoice_id="in_1", refers_to="il_1"),
    line("il_2", "one_off", "5", invoice_id="in_1"),
]


def refund(name: str, amount: str, of: str | None = None, invoice: str | None = "in_1", **more: Any) -> Line:
    return line(name, "refund", f"-{amount}", refers_to=of, invoice_id=invoice, **more)


@pytest.mark.parametrize(
    ("refunds", "told"),
    [
        ([refund("r", "20.01", "il_1")], "amount='20.01': note: of line il_1 20 are left"),
        ([refund("r", "20.01", "il_1", None)], "of line il_1 20 are left"),
        ([refund("r", "25.01")], "amount='25.01': note: of invoice in_1 25 are left"),
        ([refund("a", "20", "il_1"), refund("b", "5.01")], "amount='25.01': note: of invoice in_1 25"),
        ([refund("a", "3", "il_2"), refund("b", "2.01", "il_2")], "amount='5.01': note: of line il_2 5 are left"),
        ([refund("r", "1", "il_1", currency="EUR")], "currency='EUR': note: line il_1 was billed in USD"),
    ],
)
def test_more_than_is_left_or_in_another_currency_is_refused(refunds: list[Line], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        Refunds(BILLED).check(refunds, "note")


def test_all_may_be_given_back_once() -> None:
    left = Refunds(BILLED)
    left.check([refund("a", "20", "il_1")], "first")
    left.check([refund("b", "5", "il_2")], "second")
    with pytest.raises(InvalidInput, match="third: of line il_2 0 are left"):
        left.check([refund("c", "0.01", "il_2")], "third")


def test_earlier_refunds_count_and_the_same_one_again_does_not() -> None:
    left = Refunds([*BILLED, refund("a", "20", "il_1")])
    left.check([refund("a", "20", "il_1")], "again")
    left.check([refund("b", "5")], "next")
    with pytest.raises(InvalidInput, match="of invoice in_1 0 are left"):
        left.check([refund("c", "0.01")], "last")


def test_a_refused_refund_takes_nothing() -> None:
    left = Refunds(BILLED)
    with pytest.raises(InvalidInput):
        left.check([refund("a", "26")], "note")
    left.check([refund("b", "25")], "note")


def test_a_refund_of_what_is_not_known_can_not_be_checked() -> None:
    coupon = line("d", "discount", "-1", refers_to="il_9")
    Refunds([*BILLED, coupon]).check([refund("r", "99", "il_9", "in_9")], "note")


def test_tax_inside_the_amounts_may_be_rounded_by_each_document() -> None:
    left, cent = Refunds(BILLED), to_minor("0.01")
    left.check([refund("a", "12.51")], "first", cent)
    left.check([refund("b", "12.51")], "second", cent)
    with pytest.raises(InvalidInput, match=r"third: of invoice in_1 -0\.02 are left"):
        left.check([refund("c", "0.04")], "third", cent)


def test_what_defers_and_earns_a_credit_grant_was_not_billed() -> None:
    """Credits sold on the same invoice for 100 are 100 to give back, though all of it is deferred."""
    sold = line("il_3", "one_off", "100", invoice_id="in_1")
    moved = [
        line("deferred:g", "one_off", "-100", invoice_id="in_1", refers_to="il_3"),
        line("earned:g:t1", "discount", "24", invoice_id="in_1", refers_to="il_1"),
        line("earned:g:t2", "refund", "-24", invoice_id="in_1", refers_to="il_1"),
    ]
    left = Refunds([*BILLED, sold, *moved])
    left.check([refund("a", "20", "il_1"), refund("b", "100", "il_3")], "note")
    with pytest.raises(InvalidInput, match="of invoice in_1 5 are left"):
        left.check([refund("c", "5.01")], "note")
