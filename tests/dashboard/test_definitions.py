"""Has every number that reports can show its definition one hover away?"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import accounting.reports
from dashboard.definitions import define, label

NUMBERS = ("money", "count", "percent", "number")


def columns() -> set[str]:
    """Names of the number columns that reports state one by one; those made in a loop are checked where a page shows them."""
    found = set()
    for file in Path(accounting.reports.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Column":
                said = [part.value for part in node.args if isinstance(part, ast.Constant)]
                if len(said) == len(node.args) and said[1] in NUMBERS:
                    found.add(str(said[0]))
    return found


def test_every_number_of_a_report_has_a_definition() -> None:
    assert len(columns()) > 90
    assert sorted(name for name in columns() if define(name) is None) == []


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("2026-10", "Effective cost booked in that month."),
        ("cost_p95", "95 % of the subscribers cost at most so much."),
        ("top_1_pct", "Share of the cost that the dearest 1 % have."),
        ("ttft_ms_p50", "50 % of the calls had their first token within so many milliseconds."),
        ("net_revenue_change_pct", "Change against the same days of the period before."),
        ("plan", None),
    ],
)
def test_a_family_of_columns_is_defined_by_its_number(name: str, meaning: str | None) -> None:
    assert define(name) == meaning


@pytest.mark.parametrize(
    ("name", "shown"),
    [("kv_gpu_seconds", "KV GPU seconds"), ("margin_pct", "Margin %"), ("ttft_ms_p50", "TTFT ms p50"), ("fx", "FX")],
)
def test_a_columns_name_is_words_with_short_names_in_capitals(name: str, shown: str) -> None:
    assert label(name) == shown
