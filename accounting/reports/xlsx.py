"""How does a report become a workbook whose sums and margins are formulas?

A spreadsheet holds 15 digits, so amounts are numbers there for reckoning, and every total stands beside as text in full. The sheet
`control` compares: what the formulas give, what the report says, and the difference between them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from accounting.reports.base import Column, Node, Report
from accounting.reports.sections import Section, SectionedReport, written

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_BOLD = Font(bold=True)
_FORMATS = {"money": "#,##0.00", "percent": "0.00", "count": "#,##0"}
_SHEET = 31
"""Longest name of a sheet."""


def to_xlsx(report: Report) -> bytes:
    """The report as a workbook: `statement`, a sheet a section, `control`, `footer`, `parameters`.

    In the statement a total is the SUM of the rows it is of, and a derived column the sum and difference of its columns. A value that
    is not known is an empty cell.
    """
    book = Workbook()
    statement = book.active
    assert isinstance(statement, Worksheet)
    statement.title = "statement"
    places = _statement(statement, report)
    sections = report.sections if isinstance(report, SectionedReport) else ()
    for section in sections:
        _section(book.create_sheet(_free_name(book, section.name)), section)
    _control(book.create_sheet("control"), report, places)
    _rows(
        book.create_sheet("footer"),
        ["name", "amount", "billing_currency", "note"],
        [[line.name, written(line.amount), line.billing_currency, line.note] for line in report.footer],
    )
    coverage = [
        [row["status"], row["events"], row["tokens"], written(row["event_share"]), written(row["token_share"])]
        for row in report.coverage
    ]
    _rows(book.create_sheet("coverage"), ["status", "events", "tokens", "event_share", "token_share"], coverage)
    asked = [[name, str(value)] for name, value in {"report": report.name, **report.parameters}.items()]
    _rows(book.create_sheet("parameters"), ["name", "value"], asked)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _statement(sheet: Worksheet, report: Report) -> dict[int, int]:
    """Writes every node and returns where each stands: id of the node -> row of the sheet."""
    _head(sheet, report.columns)
    letters = {column.name: get_column_letter(at) for at, column in enumerate(report.columns, start=1)}
    places: dict[int, int] = {}
    number = 1
    for node in report.nodes():
        number += 1
        places[id(node)] = number
        children = [places[id(child)] for child in node.children]
        for at, column in enumerate(report.columns, start=1):
            cell = sheet.cell(number, at, _value(node, column, children, letters, number))
            cell.number_format = _FORMATS.get(column.kind, "General")
            if node.children:
                cell.font = _BOLD
    return places


def _value(node: Node, column: Column, children: Sequence[int], letters: dict[str, str], number: int) -> Any:
    value = node.row[column.name]
    if value is None:
        return None
    if column.kind == "money" and (column.plus or column.minus):
        parts = [f"{letters[name]}{number}" for name in column.plus]
        return f"={'+'.join(parts)}" + "".join(f"-{letters[name]}{number}" for name in column.minus)
    if column.kind == "money" and children:
        letter = letters[column.name]
        return f"=SUM({','.join(f'{letter}{place}' for place in children)})"
    return _cell(value)


def _section(sheet: Worksheet, section: Section) -> None:
    sheet.cell(1, 1, section.title).font = _BOLD
    sheet.cell(2, 1, section.note)
    _head(sheet, section.columns, row=4)
    for number, row in enumerate(section.rows, start=5):
        for at, column in enumerate(section.columns, start=1):
            cell = sheet.cell(number, at, _cell(row[column.name]))
            cell.number_format = _FORMATS.get(column.kind, "General")


def _control(sheet: Worksheet, report: Report, places: dict[int, int]) -> None:
    """A line a total and amount: its text in full, the formula's value, and the difference as numbers."""
    sheet.append(["row", "billing_currency", "column", "report (text)", "formulas", "difference"])
    letters = {column.name: get_column_letter(at) for at, column in enumerate(report.columns, start=1)}
    for root in report.outline:
        for column in report.columns:
            if column.kind != "money" or root.row[column.name] is None:
                continue
            number = sheet.max_row + 1
            sheet.cell(number, 1, root.row["row"])
            sheet.cell(number, 2, root.row["billing_currency"])
            sheet.cell(number, 3, column.name)
            text = sheet.cell(number, 4, written(root.row[column.name]))
            text.number_format, text.data_type = "@", "s"
            sheet.cell(number, 5, f"=statement!{letters[column.name]}{places[id(root)]}")
            sheet.cell(number, 6, f"=ROUND(E{number}-VALUE(D{number}),9)")


def _rows(sheet: Worksheet, heading: list[str], rows: Sequence[list[Any]]) -> None:
    sheet.append(heading)
    for row in rows:
        sheet.append([_safe(value) for value in row])


def _head(sheet: Worksheet, columns: Sequence[Column], row: int = 1) -> None:
    for at, column in enumerate(columns, start=1):
        sheet.cell(row, at, column.name).font = _BOLD
        sheet.column_dimensions[get_column_letter(at)].width = max(12, len(column.name) + 2)


def _cell(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else _safe(value)


def _safe(value: Any) -> Any:
    """Text from outside that a spreadsheet would run as a formula keeps a mark in front."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") and not _number(value) else value


def _number(text: str) -> bool:
    return text[1:].replace(".", "", 1).isdigit()


def _free_name(book: Workbook, name: str) -> str:
    short = name[:_SHEET]
    number = 1
    while short in book.sheetnames:
        number += 1
        short = f"{name[: _SHEET - 3]}_{number}"
    return short
