"""Are the margins, plans and steps of the worked company those of plan_company/README.md, its sheet and expected.json?"""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from accounting.reports import Report, ReportQuery, run
from accounting.reports.margin import margin_of_user
from accounting.reports.sections import SectionedReport
from tests.conftest import Database
from tests.golden.company import FOLDER, load
from tests.golden.plan_company.make_sheet import write
from tests.golden.spreadsheet import recalculate

pytestmark = pytest.mark.storage
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
COSTS = ("provider_cost", "self_hosted_cost", "idle_cost")


class Company:
    """The tenant's reports, each run once."""

    def __init__(self, database: Database) -> None:
        self._database, self.tenant = database, load(database)
        self._known: dict[tuple[str, ...], Report] = {}

    def report(self, name: str, start: str = "2026-04-01", by: str | None = None) -> Any:
        key = (name, start, by or "")
        if key not in self._known:
            self._known[key] = run(
                self._database.app, self.tenant, name, ReportQuery.parse(start, "2026-05-01", "UTC", by)
            )
        return self._known[key]

    def user(self, user_id: str) -> list[dict[str, Any]]:
        """A user's rows of April's margins, read for it alone."""
        query = ReportQuery.parse("2026-04-01", "2026-05-01", "UTC")
        return margin_of_user(self._database.app, self.tenant, query, user_id)


@pytest.fixture(scope="module")
def company(database: Database) -> Company:
    return Company(database)


def _figures(row: dict[str, Any]) -> list[Decimal]:
    """Net revenue, usage cost, payment fees, gross margin."""
    return [
        row["net_revenue"],
        sum((row[name] for name in COSTS), Decimal(0)),
        row["payment_fees"],
        row["gross_margin"],
    ]


def _expected(name: str) -> dict[str, list[Decimal]]:
    return {key: [Decimal(text) for text in texts] for key, texts in EXPECTED[name].items()}


def _section(report: SectionedReport, name: str) -> list[dict[str, Any]]:
    (section,) = [section for section in report.sections if section.name == name]
    return list(section.rows)


@pytest.mark.parametrize("by", ["user", "plan"])
def test_each_margin_is_the_one_by_hand(company: Company, by: str) -> None:
    key = {"user": "user_id"}.get(by, by)
    rows = company.report("margin", by=by).rows
    assert {row[key]: _figures(row) for row in rows if row["row"] == "detail"} == _expected(f"margin_by_{by}")


def test_what_matches_nobody_and_the_totals_are_those_by_hand(company: Company) -> None:
    found = {
        node.row["row"]: _figures(node.row)
        for node in company.report("margin", by="plan").nodes()
        if node.row["row"] != "detail"
    }
    assert found == _expected("apart")


@pytest.mark.parametrize("by", ["account", "feature", "model", "cohort"])
def test_however_margins_are_grouped_the_totals_are_the_same(company: Company, by: str) -> None:
    plain = company.report("margin", by="user").totals
    totals = company.report("margin", by=by).totals
    assert [_figures(row) for row in totals] == [_figures(row) for row in plain]


@pytest.mark.parametrize("name", ["margin", "plan-profitability"])
def test_the_footer_ties_the_report_to_the_ledger(company: Company, name: str) -> None:
    feet = {line.name: line.amount for line in company.report(name).footer}
    assert (feet["ledger_total"], feet["difference"]) == (Decimal("144.05"), 0)


def test_the_plans_and_their_subscribers_are_those_by_hand(company: Company) -> None:
    report = company.report("plan-profitability")
    rows = {row["plan"]: row for row in report.rows if row["row"] == "detail"}
    for plan, figures in EXPECTED["plans"].items():
        found = {name: None if rows[plan][name] is None else Decimal(rows[plan][name]) for name in figures}
        assert found == {name: None if text is None else Decimal(text) for name, text in figures.items()}, plan
    assert {plan: _figures(row) for plan, row in rows.items()} == _expected("margin_by_plan")


def test_what_plans_bring_every_month_is_the_one_by_hand(company: Company) -> None:
    """30 April. Pro: ann, ben, dan, gus, kim 30 each, eve 292 / 12. Team: cyd, jon, lee 45, ivy 90, fay comped."""
    rows = {row["plan"]: row["monthly_recurring"] for row in company.report("plan-profitability").rows if row["plan"]}
    assert rows == {"free": 0, "pro": Decimal("174.333333333333333"), "team": 225}


def test_the_loss_making_subscribers_are_named_worst_first(company: Company) -> None:
    rows = _section(company.report("plan-profitability"), "loss_making")
    assert [(row["plan"], row["user_id"], row["margin"], row["note"]) for row in rows] == [
        ("free", "hal", Decimal("-1.1"), ""),
        ("pro", "ben", Decimal("-19.17"), ""),
        ("team", "fay", Decimal("-9"), "comped"),
    ]


@pytest.mark.parametrize("plan", ["pro", "team"])
def test_distribution_break_even_and_cap_are_those_by_hand(company: Company, plan: str) -> None:
    report = company.report("plan-profitability")
    (found,) = [dict(row) for row in _section(report, "cost_distribution") if row["plan"] == plan]
    for row in _section(report, "break_even"):
        if row["plan"] == plan:
            found[f"break_even_{row['unit']}"] = row["break_even_use"]
    for row in _section(report, "caps"):
        if row["plan"] == plan and row["covered_pct"] == 95:
            found[f"cap_95_{row['unit']}"] = row["cap"]
    expected = {name: None if text is None else Decimal(text) for name, text in EXPECTED[plan].items()}
    assert {name: found[name] for name in expected} == expected


def test_the_free_tier_costs_each_paying_user_eleven_cents(company: Company) -> None:
    (row,) = _section(company.report("plan-profitability"), "free_tier")
    assert {name: Decimal(row[name]) for name in EXPECTED["free_tier"]} == {
        name: Decimal(text) for name, text in EXPECTED["free_tier"].items()
    }


def test_cohorts_of_two_months_are_those_by_hand(company: Company) -> None:
    rows = _section(company.report("plan-profitability", "2026-03-01"), "cohorts")
    assert [
        [row["cohort"], row["age_months"], row["contribution"], row["cumulative_contribution"]] for row in rows
    ] == [[cohort, age, Decimal(one), Decimal(all_)] for cohort, age, one, all_ in EXPECTED["cohorts"]]


def test_too_few_subscribers_have_no_interval_and_are_told(company: Company) -> None:
    rows = _section(company.report("plan-profitability"), "intervals")
    assert {(row["low"], row["high"]) for row in rows} == {(None, None)}
    assert "subscribers: 7, fewer than 20: no interval" in {row["note"] for row in rows}


def _sheet(path: Path) -> dict[str, Any]:
    """Figures of the workbook by name, as the spreadsheet program that saved it worked them out."""
    book = load_workbook(path, data_only=True)
    return {str(name): value for name, value in book["figures"].iter_rows(values_only=True)}


@pytest.fixture(scope="module")
def sheet() -> dict[str, Any]:
    return _sheet(FOLDER / "plan_company.xlsx")


def test_the_sheet_and_the_pencil_agree(sheet: dict[str, Any]) -> None:
    for group in ("margin_by_user", "margin_by_plan"):
        for key, texts in EXPECTED[group].items():
            for name, text in zip(("net", "cost", "fees", "margin"), texts, strict=True):
                assert sheet[f"{group}.{key}.{name}"] == pytest.approx(float(text), abs=1e-9), (key, name)
    for plan in ("pro", "team"):
        for name, text in EXPECTED[plan].items():
            value = sheet[f"{plan}.{name}"]
            assert value == "none" if text is None else value == pytest.approx(float(text), abs=1e-4), (plan, name)


def test_every_step_of_the_bridge_is_the_sheets(company: Company, sheet: dict[str, Any]) -> None:
    steps = {row["step"]: row for row in company.report("margin-bridge").rows}
    for name in steps:
        for side in ("revenue", "cost"):
            expected = sheet.get(f"bridge.{name}.{side}", 0)
            assert float(steps[name][side]) == pytest.approx(expected, abs=1e-9), (name, side)
    change = company.report("margin-bridge").totals[0]
    assert change["margin"] == Decimal("-76.93")
    assert sheet["bridge.change.margin"] == pytest.approx(-76.93)


def test_the_steps_add_up_to_the_last_digit(company: Company) -> None:
    report = company.report("margin-bridge")
    feet = {line.name: line.amount for line in report.footer}
    assert sum((row["margin"] for row in report.rows), Decimal(0)) == Decimal("-76.93")
    assert (feet["margin_before"], feet["margin_after"], feet["difference"]) == (
        Decimal("285.01"),
        Decimal("208.08"),
        0,
    )


def test_price_volume_and_mix_are_the_sheets(company: Company, sheet: dict[str, Any]) -> None:
    rows = _section(company.report("margin-bridge"), "price_volume_mix")
    assert [(row["plan"], row["change"]) for row in rows] == [
        ("free", 0),
        ("pro", Decimal("-26.2")),
        ("team", Decimal("42.5")),
    ]
    for row in rows:
        for name in ("price", "volume", "mix"):
            assert float(row[name]) == pytest.approx(sheet[f"pvm.{row['plan']}.{name}"], abs=1e-9)
        assert row["price"] + row["volume"] + row["mix"] + row["new"] == row["change"]


def test_the_workload_by_model_is_the_one_by_hand(company: Company) -> None:
    """April's users: n-large ann 0.5 fresh, 0.5 cached, 0.1 out and nine more calls; own machines' charges belong to no event."""
    report = company.report("workload", by="model")
    rows = {row["key"]: row for row in report.rows}
    large = rows["n-large"]
    # Fresh 0.5 + 8 + 1 + 0.4 + 1.5 + 2.5 + 3 = 16.9 million, cached 0.5, out 3.38.
    assert (large["events"], large["input_tokens"], large["output_tokens"]) == (10, 17_400_000, 3_380_000)
    assert large["effective_cost"] == Decimal("101.55")
    # Half a million cached at 0.30 and not at 3: 1.35 saved.
    assert (large["cache_saving"], large["cache_hit_pct"]) == (Decimal("1.35"), Decimal("2.8736"))
    assert (large["output_per_million"], large["context_max"]) == (15, 3_000_000)
    assert {key: row["effective_cost"] for key, row in rows.items() if key != "n-large"} == {
        "n-new": 4,
        "n-small": Decimal("4.2"),
    }
    assert {line.name: line.amount for line in report.footer}["difference"] == 0


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_the_sheets_formulas_give_these_figures(sheet: dict[str, Any], tmp_path: Path) -> None:
    """Written anew, without values, so that they can only come from the formulas."""
    write(tmp_path / "fresh.xlsx")
    again = _sheet(recalculate(tmp_path / "fresh.xlsx", tmp_path / "done"))
    assert {name: pytest.approx(value) for name, value in again.items()} == sheet
