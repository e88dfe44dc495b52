"""Does a footer say by how much a report is not the ledger?"""

from __future__ import annotations

from decimal import Decimal

from accounting.reports.reconcile import by_user_day


def test_the_difference_is_the_report_less_the_ledger() -> None:
    total, difference = by_user_day("USD", Decimal("3.10"), Decimal("5.25"))
    assert (total.name, total.amount) == ("ledger_total", Decimal("5.25"))
    assert (difference.name, difference.amount) == ("difference", Decimal("-2.15"))
