"""Is a seller's figure compared with the ledger as it stands, at its edges too?"""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounting.ledger.stated_total import Stated, compare


@pytest.mark.parametrize("billed", ["0", "-5"])
def test_of_a_bill_that_is_not_above_0_no_share_is_told(billed: str) -> None:
    found = compare(Decimal("-7"), [Stated("invoice", Decimal(billed), True)])
    assert found.unlogged == Decimal(billed) + 7
    assert (found.unlogged_share, found.reconciled) == (None, False)


def test_the_share_is_of_what_was_billed() -> None:
    found = compare(Decimal(90), [Stated("invoice", Decimal(120), True)])
    assert (found.difference, found.unlogged, found.unlogged_share) == (Decimal(-30), Decimal(30), Decimal("0.25"))
