"""When is a cohort paid back? One user, won for 2, who brings 1 in January and 1 in February after fees and use."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from accounting.reports.cohort_data import Month
from accounting.reports.cohorts import _rows

ONE = 10**18
STARTS = [date(2026, 1, 1), date(2026, 2, 1), date(2026, 3, 1)]
MONTHS = {
    ("ann", 0): Month(net=ONE),
    ("ann", 1): Month(net=ONE * 3 // 2, fees=ONE // 10, cost=ONE * 4 // 10),
}


def _cohort(cost: Decimal | None) -> list[dict[str, Any]]:
    return _rows(date(2026, 1, 1), ["ann"], [cost], STARTS, MONTHS)


def test_a_cohort_is_paid_back_in_the_month_that_reaches_what_it_cost() -> None:
    assert [row["paid_back"] for row in _cohort(Decimal(2))] == ["no", "in this month", "yes"]


def test_contribution_is_less_use_and_fees_and_adds_up_by_age() -> None:
    rows = _cohort(Decimal(2))
    assert [(row["age_months"], row["cost"], row["contribution"]) for row in rows] == [
        (0, 0, 1),
        (1, Decimal("0.5"), 1),
        (2, 0, 0),
    ]
    assert [row["cumulative_per_user"] for row in rows] == [1, 2, 2]


def test_what_is_not_known_to_have_cost_anything_is_not_paid_back_either() -> None:
    assert [(row["acquisition_cost_per_user"], row["paid_back"]) for row in _cohort(None)] == [(None, "")] * 3
