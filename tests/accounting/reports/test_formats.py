"""Do the workbook, the page and the text of a report say the same figures, and recalculate to them?"""

from __future__ import annotations

import io
import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from accounting.reports.base import Column, Footer, Node
from accounting.reports.html import to_html
from accounting.reports.query import ReportQuery
from accounting.reports.sections import Section, SectionedReport
from accounting.reports.xlsx import to_xlsx
from tests.golden.spreadsheet import recalculate

COLUMNS = (
    Column("row", "text", table=False),
    Column("billing_currency", "text"),
    Column("plan", "text"),
    Column("revenue", "money"),
    Column("cost", "money"),
    Column("margin", "money", plus=("revenue",), minus=("cost",)),
    Column("events", "count"),
)
LONG = Decimal("12345678901234567.89")


def row(kind: str, plan: str | None, revenue: Decimal, cost: Decimal | None) -> dict[str, Any]:
    margin = None if cost is None else revenue - cost
    return {
        "row": kind,
        "billing_currency": "USD",
        "plan": plan,
        "revenue": revenue,
        "cost": cost,
        "margin": margin,
        "events": 3,
    }


def report() -> SectionedReport:
    details = [
        row("detail", "pro <&>", Decimal("30.25"), Decimal("12.125")),
        row("detail", "=HYPERLINK(1)", LONG, Decimal(0)),
        row("detail", "unknown", Decimal(1), None),
    ]
    total = row("total", None, Decimal("12345678901234599.14"), Decimal("12.125"))
    curve = Section(
        "heavy_users",
        "Heavy users",
        (Column("plan", "text"), Column("x", "percent"), Column("y", "percent")),
        ({"plan": "pro", "x": Decimal(0), "y": Decimal(0)}, {"plan": "pro", "x": Decimal(100), "y": Decimal(100)}),
        "How to read it.",
        ("plan", "x", "y"),
    )
    return SectionedReport(
        "plans",
        ReportQuery.parse("2026-04-01", "2026-05-01", "UTC"),
        COLUMNS,
        (Node(total, tuple(Node(one) for one in details)),),
        [],
        [Footer("difference", Decimal(0), "USD", "0 or wrong")],
        sections=(curve,),
    )


@pytest.fixture(scope="module")
def workbook() -> Any:
    return load_workbook(io.BytesIO(to_xlsx(report())))


def test_totals_and_margins_are_formulas(workbook: Any) -> None:
    sheet = workbook["statement"]
    assert [sheet[f"{letter}5"].value for letter in "DEF"] == ["=SUM(D2,D3,D4)", "=SUM(E2,E3,E4)", "=D5-E5"]
    assert sheet["F2"].value == "=D2-E2"


def test_an_unknown_amount_is_an_empty_cell(workbook: Any) -> None:
    assert [workbook["statement"][f"{letter}4"].value for letter in "EF"] == [None, None]


def test_the_control_total_is_text_in_full(workbook: Any) -> None:
    cell = workbook["control"]["D2"]
    assert (cell.value, cell.data_type) == ("12345678901234599.14", "s")


def test_text_from_outside_is_no_formula(workbook: Any) -> None:
    assert workbook["statement"]["C3"].value == "'=HYPERLINK(1)"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_the_workbook_recalculates_to_the_reports_totals(tmp_path: Path) -> None:
    small = report()
    details = [
        row("detail", "pro", Decimal("30.25"), Decimal("12.125")),
        row("detail", "team", Decimal(9), Decimal("10.5")),
    ]
    total = row("total", None, Decimal("39.25"), Decimal("22.625"))
    changed = SectionedReport(small.name, small.query, COLUMNS, (Node(total, tuple(Node(one) for one in details)),), [])
    (tmp_path / "plans.xlsx").write_bytes(to_xlsx(changed))
    book = load_workbook(recalculate(tmp_path / "plans.xlsx", tmp_path / "done"), data_only=True)
    control = list(book["control"].iter_rows(min_row=2, values_only=True))
    assert [(line[2], line[3], line[4], line[5]) for line in control] == [
        ("revenue", "39.25", 39.25, 0),
        ("cost", "22.625", 22.625, 0),
        ("margin", "16.625", 16.625, 0),
    ]


def test_the_page_stands_alone_and_escapes_what_it_shows() -> None:
    page = to_html(report())
    assert re.findall(r"(?:src|href)=|<script|url\(|@import", page) == []
    assert "pro &lt;&amp;&gt;" in page
    assert "<svg" in page
    assert page.count("<table") == 3


def test_json_and_csv_have_the_sections() -> None:
    found = report()
    (section,) = found.to_json()["sections"]
    assert section["rows"] == [{"plan": "pro", "x": "0", "y": "0"}, {"plan": "pro", "x": "100", "y": "100"}]
    lines = found.to_csv().splitlines()
    assert len({line.count(",") for line in lines if "HYPERLINK" not in line}) == 1
    assert sum(line.startswith("section:heavy_users") for line in lines) == 2


def test_the_text_has_the_sections_below_the_statement() -> None:
    text = report().to_table()
    assert text.index("total") < text.index("Heavy users") < text.index("How to read it.")
