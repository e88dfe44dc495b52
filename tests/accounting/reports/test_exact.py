"""Are amounts added without losing a digit, and ratios rounded once?"""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounting.errors import MoneyError
from accounting.reports.exact import minus, percent, plus, stored_units, total


def test_a_sum_keeps_more_digits_than_the_default_context() -> None:
    large, small = Decimal("12345678901234567890"), Decimal("0.000000000000000001")
    assert plus(large, small) == Decimal("12345678901234567890.000000000000000001")
    assert minus(large, small) == Decimal("12345678901234567889.999999999999999999")
    assert total([large, small, -large]) == Decimal("0.000000000000000001")


def test_nothing_adds_up_to_nothing() -> None:
    assert total([]) == Decimal(0)


def test_stored_units_are_whole_and_of_eighteen_decimals() -> None:
    assert stored_units(Decimal("-12345678901234567890.5")) == -12345678901234567890500000000000000000


def test_a_percentage_is_half_even_to_four_decimals() -> None:
    assert percent(1, 3) == Decimal("33.3333")
    assert percent(1, 800_000) == Decimal("0.0001")  # 0.000125 rounds down
    assert percent(Decimal("0.0000005"), 1) == Decimal("0.0000")  # 0.00005, to even
    assert percent(Decimal("0.0000015"), 1) == Decimal("0.0002")  # 0.00015, to even


def test_a_percentage_of_nothing_is_unknown_and_a_float_refused() -> None:
    assert percent(1, 0) is None
    with pytest.raises(MoneyError, match="float"):
        percent(0.5, 1)  # type: ignore[arg-type]
