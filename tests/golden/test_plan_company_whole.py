"""Is every figure of every report of the worked company a cell of its spreadsheet? A figure without a cell fails by its name.

Shares of the bootstrap have none: twelve users are too few, and that is told (test_plan_company.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from accounting.reports.base import Column
from accounting.reports.margin_row import MONEY
from tests.golden.test_plan_company import Company, _section, company, sheet  # noqa: F401  fixtures

pytestmark = pytest.mark.storage
KINDS = ("money", "percent", "number", "count")
GROUPS = ("user", "account", "plan", "feature", "model", "cohort")
SHARE = 6e-5
"""Percents are printed with 4 decimals, other fractions with 6."""


def _check(cells: Mapping[str, Any], prefix: str, row: Mapping[str, Any], columns: Iterable[str]) -> None:
    wrong = {
        name: (row[name], cells.get(f"{prefix}.{name}", "no cell"))
        for name in columns
        if not _same(row[name], cells.get(f"{prefix}.{name}", "no cell"))
    }
    assert wrong == {}, prefix


def _same(figure: Any, cell: Any) -> bool:
    if figure is None or isinstance(cell, str):
        return figure is None and cell == "none"
    return bool(float(figure) == pytest.approx(cell, abs=SHARE, rel=1e-9))


def _numbers(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns if column.kind in KINDS]


@pytest.mark.parametrize("by", GROUPS)
def test_margins_of_every_grouping_are_the_sheets(company: Company, sheet: dict[str, Any], by: str) -> None:  # noqa: F811
    report = company.report("margin", by=by)
    key = {"user": "user_id", "account": "account_id"}.get(by, by)
    nodes = [node.row for node in report.nodes()]
    assert len(nodes) == sum(name.startswith(f"margin.{by}.") and name.endswith(".events") for name in sheet)
    for row in nodes:
        _check(sheet, f"margin.{by}.{row[key] or row['row']}", row, _numbers(report.columns))


def test_margins_of_single_users_are_their_rows(company: Company) -> None:  # noqa: F811
    report = company.report("margin", by="user")
    rows = {row["user_id"]: row for row in report.rows if row["row"] == "detail"}
    assert {user: company.user(user) for user in rows} == {user: [row] for user, row in rows.items()}


def test_the_report_of_users_is_the_sheets(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    report = company.report("user-margin")
    for node in report.nodes():
        _check(sheet, f"user_margin.{node.row['user_id'] or node.row['row']}", node.row, _numbers(report.columns))


def test_plans_and_their_totals_are_the_sheets(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    report = company.report("plan-profitability")
    money = [column.name for column in MONEY]
    own = [name for name in _numbers(report.columns) if name not in money]
    for node in report.nodes():
        key = node.row["plan"] or node.row["row"]
        _check(sheet, f"margin.plan.{key}", node.row, money)
        _check(sheet, f"plan.{key}", node.row, own)


SECTIONS = {
    "loss_making": "member.{plan}.{user_id}",
    "cost_distribution": "cost_distribution.{plan}",
    "use_distribution": "use_distribution.{plan}.{unit}.{from_use}.{below_use}",
    "break_even": "break_even.{plan}.{unit}",
    "caps": "caps.{plan}.{unit}.{covered_pct}",
    "free_tier": "free_tier",
}
GIVEN = ("from_use", "below_use", "covered_pct")
"""Columns that say which row it is."""


@pytest.mark.parametrize("name", SECTIONS)
def test_what_stands_beside_the_plans_is_the_sheets(company: Company, sheet: dict[str, Any], name: str) -> None:  # noqa: F811
    report = company.report("plan-profitability")
    (section,) = [one for one in report.sections if one.name == name]
    for row in section.rows:
        columns = [one for one in _numbers(section.columns) if one not in GIVEN]
        _check(sheet, SECTIONS[name].format(**row), row, columns)


def test_the_curve_of_heavy_users_is_the_sheets(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    """A point a whole subscriber: of seven plans' members the points of 5 % fall on all of them."""
    rows = _section(company.report("plan-profitability"), "heavy_users")
    for plan, count in (("free", 1), ("pro", 7), ("team", 5)):
        of = [row for row in rows if row["plan"] == plan]
        assert len(of) == count + 1
        for some, row in enumerate(of):
            _check(sheet, f"heavy_users.{plan}.{some}", row, ("subscribers_pct", "profit_pct", "cost_pct"))


def test_the_token_mix_beside_break_even_use_is_the_sheets(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    for row in _section(company.report("plan-profitability"), "break_even"):
        mix = {name: Decimal(share) for name, share in re.findall(r"(\w+) ([\d.]+) %", row["token_mix"])}
        for name in ("uncached_input", "cache_read", "output"):
            assert float(mix.get(name, 0)) == pytest.approx(sheet[f"mix.{row['plan']}.{name}"], abs=0.005), row


ESTIMATES = {
    **dict.fromkeys(("cost_mean", "cost_p50", "cost_p90", "cost_p95", "cost_p99", "gini"), "cost_distribution.{plan}"),
    **dict.fromkeys(("top_1_pct", "top_5_pct", "top_10_pct"), "cost_distribution.{plan}"),
    **dict.fromkeys(("margin_pct", "net_revenue_mean"), "cost_distribution.{plan}"),
    "loss_making_pct": "plan.{plan}",
}


def test_estimates_are_the_figures_they_stand_for(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    for row in _section(company.report("plan-profitability"), "intervals"):
        name, plan = row["estimate"], row["plan"]
        if name in ESTIMATES:
            cell = f"{ESTIMATES[name].format(plan=plan)}.{name}"
        else:
            kind, _, rest = name.rpartition("_")
            cell = (
                f"break_even.{plan}.{rest}.break_even_use"
                if kind == "break_even"
                else f"caps.{plan}.{rest}.{kind[4:]}.cap"
            )
        assert _same(row["value"], sheet[cell]), row


def test_cohorts_are_the_sheets(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    report = company.report("plan-profitability", "2026-03-01")
    (section,) = [one for one in report.sections if one.name == "cohorts"]
    for row in section.rows:
        columns = [name for name in _numbers(section.columns) if name != "age_months"]
        _check(sheet, f"cohorts.{row['cohort']}.{row['age_months']}", row, columns)


@pytest.mark.parametrize("by", ["model", "feature"])
def test_the_workload_is_the_sheets(company: Company, sheet: dict[str, Any], by: str) -> None:  # noqa: F811
    report = company.report("workload", by=by)
    for node in report.nodes():
        _check(sheet, f"workload.{by}.{node.row['key'] or 'total'}", node.row, _numbers(report.columns))


def test_growth_from_march_to_april_is_the_sheets(company: Company, sheet: dict[str, Any]) -> None:  # noqa: F811
    report = company.report("workload", "2026-03-01", "model")
    (section,) = [one for one in report.sections if one.name == "growth"]
    assert len(section.rows) == 2
    for row in section.rows:
        _check(sheet, f"growth.{row['month']}", row, _numbers(section.columns))
