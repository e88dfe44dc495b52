"""Does a page pick the rows it needs, in their order, and show each value by its kind?"""

from __future__ import annotations

from typing import Any

import pytest

from dashboard import frame, rows
from dashboard.api import Answer


def row(kind: str, plan: str | None, currency: str = "USD") -> dict[str, Any]:
    return {"row": kind, "plan": plan, "billing_currency": currency}


REPORT = Answer(
    "http://x/v1/reports/plan-profitability",
    {
        "rows": [
            row("not_user_facing", None),
            row("detail", "pro"),
            row("detail", "free"),
            row("detail", "pro", "EUR"),
        ],
        "totals": [row("total", None), row("total_free_tier_in", None), row("total_free_tier_out", None)],
        "footer": [
            {"name": "margin_before", "billing_currency": "EUR", "amount": "1"},
            {"name": "margin_before", "billing_currency": "USD", "amount": "2.5"},
        ],
        "sections": [
            {"name": "caps", "note": "how", "columns": [], "rows": [row("detail", "pro"), row("detail", "pro", "EUR")]},
            {"name": "points", "note": "", "columns": [], "rows": [{"pool": "p"}]},
        ],
    },
)


def test_a_statement_ends_with_what_is_nobodys_margin_and_the_total_of_all() -> None:
    assert [one["row"] for one in rows.statement(REPORT, "USD")] == [
        "detail",
        "detail",
        "total_free_tier_in",
        "not_user_facing",
        "total",
    ]


def test_a_currency_without_totals_has_its_details_alone() -> None:
    assert [(one["row"], one["plan"]) for one in rows.statement(REPORT, "EUR")] == [("detail", "pro")]
    assert rows.total(REPORT, "total", "EUR") is None


def test_a_row_that_is_no_detail_says_what_it_is() -> None:
    named = rows.named([row("detail", "pro"), row("total", None), row("subtotal", "cost_of_revenue")], "plan")
    assert [one["plan"] for one in named] == ["pro", "total", "subtotal cost of revenue"]


def test_amounts_and_sections_are_those_of_the_currency() -> None:
    assert (rows.footer(REPORT, "margin_before", "USD"), rows.footer(REPORT, "margin_after", "USD")) == ("2.5", None)
    assert rows.section(REPORT, "caps", "EUR") == [row("detail", "pro", "EUR")]
    assert rows.section(REPORT, "points", "EUR") == [{"pool": "p"}]
    assert (rows.note(REPORT, "caps"), rows.note(REPORT, "none")) == ("how", "")
    assert rows.currencies(REPORT) == ["USD", "EUR"]


@pytest.mark.parametrize(
    ("value", "kind", "exact", "shown", "hover"),
    [
        ("1234.5678", "money", False, "$1,234.57", "1234.5678 USD"),
        ("1234.5678", "money", True, "1234.5678 USD", "1234.5678 USD"),
        (None, "money", False, "\N{EM DASH}", "not known"),
        (None, "count", False, "\N{EM DASH}", "not known"),
        (None, "text", False, "\N{EM DASH}", ""),
        (0, "count", False, "0", "0"),
        ("1234567", "count", False, "1,234,567", "1234567"),
        ("12.345", "percent", False, "12.3 %", "12.345 %"),
        ("12.345", "percent", True, "12.345 %", "12.345 %"),
        ("0.123456", "number", False, "0.1235", "0.123456"),
        ("0.123456", "number", True, "0.123456", "0.123456"),
        (False, "text", False, "no", "no"),
        ("2026-10-05T10:00:59Z", "moment", False, "2026-10-05 10:00", "2026-10-05T10:00:59Z"),
    ],
)
def test_a_value_is_shown_by_its_kind_with_every_digit_to_hover_over(
    value: object, kind: str, exact: bool, shown: str, hover: str
) -> None:
    assert frame.cell(value, kind, "USD", exact) == (shown, hover)


def test_a_file_has_every_digit_and_unknown_is_empty() -> None:
    listed = [{"a": "0.000000000000000001", "b": None, "c": "left out"}, {"a": 'x,"y"'}]
    assert frame.to_csv(listed, ["a", "b"]) == b'a,b\r\n0.000000000000000001,\r\n"x,""y""",\r\n'


def test_the_worst_is_the_first_who_pays_and_a_free_user_only_where_nobody_does() -> None:
    free, refunded = {"user_id": "f", "net_revenue": "0.00"}, {"user_id": "r", "net_revenue": "-5"}
    first, second = {"user_id": "p", "net_revenue": "20"}, {"user_id": "q", "net_revenue": "0.10"}
    assert rows.worst([free, refunded, second, first])["user_id"] == "q"
    assert rows.worst([free, first, second])["user_id"] == "p"
    assert rows.worst([refunded, free])["user_id"] == "r"
