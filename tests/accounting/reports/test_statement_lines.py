"""Which line does the dated policy choose?"""

from __future__ import annotations

from datetime import date

from accounting.reports.statement_lines import PurposePolicy

DEFAULT = [("production", date(2000, 1, 1), "cost_of_revenue"), ("free", date(2000, 1, 1), "sales_and_marketing")]


def test_the_default_rows_hold_without_own_ones() -> None:
    assert PurposePolicy([], DEFAULT).line("free", date(2026, 2, 1)) == "sales_and_marketing"


def test_an_own_row_holds_from_its_day_on() -> None:
    policy = PurposePolicy([("free", date(2026, 2, 15), "cost_of_revenue")], DEFAULT)
    assert policy.line("free", date(2026, 2, 14)) == "sales_and_marketing"
    assert policy.line("free", date(2026, 2, 15)) == "cost_of_revenue"


def test_the_latest_own_row_wins_and_a_later_default_does_not() -> None:
    own = [("free", date(2026, 1, 1), "internal"), ("free", date(2026, 3, 1), "cost_of_revenue")]
    policy = PurposePolicy(own, [*DEFAULT, ("free", date(2026, 2, 1), "research_and_development")])
    assert policy.line("free", date(2026, 2, 20)) == "internal"
    assert policy.line("free", date(2026, 3, 1)) == "cost_of_revenue"


def test_a_purpose_without_a_row_is_shown_as_unmapped() -> None:
    assert PurposePolicy([], DEFAULT).line("eval", date(2026, 2, 1)) == "unmapped"
    assert PurposePolicy([], DEFAULT).line("free", date(1999, 12, 31)) == "unmapped"


def test_all_days_of_change_are_known() -> None:
    policy = PurposePolicy([("free", date(2026, 2, 15), "internal")], DEFAULT)
    assert policy.starts == [date(2000, 1, 1), date(2026, 2, 15)]
