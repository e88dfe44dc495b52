"""How does a report say more than one table: a statement, and sections beside it, in every format?"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from accounting.money import format_plain
from accounting.reports.base import Column, Report, Row

UNKNOWN = "-"


@dataclass(frozen=True)
class Section:
    """One table beside a report's statement.

    Attributes:
        name: key, snake_case. title: for people.
        columns: of its rows. rows: None is not known, never 0.
        note: how to read it: definitions, order, what was left out; empty: nothing to say.
        curve: names of (label, x, y...) columns that HTML draws as lines, a line each label; empty: none.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    curve: tuple[str, ...] = ()


@dataclass(frozen=True)
class SectionedReport(Report):
    """A report with sections. JSON has them under `sections`, CSV as rows `section:NAME`, the table below the statement."""

    sections: tuple[Section, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The report's JSON object, with `sections` [{name, title, note, columns, rows}]."""
        return {**super().to_json(), "sections": [_json(section) for section in self.sections]}

    def to_csv(self) -> str:
        """One heading and one width throughout; a section's rows follow the statement and leave its columns empty where they have none."""
        statement = list(csv.DictReader(io.StringIO(super().to_csv())))
        heading = next(csv.reader(io.StringIO(super().to_csv())))
        more = [column.name for section in self.sections for column in section.columns]
        names = list(dict.fromkeys([*heading, *more]))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="", lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(statement)
        for section in self.sections:
            writer.writerows({"row": f"section:{section.name}", **plain(section, row)} for row in section.rows)
        return text.getvalue()

    def to_table(self) -> str:
        """Aligned text, section by section."""
        return "\n".join([super().to_table(), *(_text(section) for section in self.sections)])


def plain(section: Section, row: Row) -> dict[str, Any]:
    """A row's own columns as they are written: decimals plain, days as YYYY-MM-DD, unknown None."""
    return {column.name: written(row[column.name]) for column in section.columns}


def written(value: Any) -> Any:
    """A value for JSON and CSV."""
    if isinstance(value, Decimal):
        return format_plain(value)
    return value.isoformat() if isinstance(value, date | datetime) else value


def shown(value: Any, column: Column) -> str:
    """A value for people; money in full, as sections explain and don't foot."""
    if value is None:
        return UNKNOWN if column.kind != "text" else ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(written(value))


def _json(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "note": section.note,
        "columns": [{"name": column.name, "kind": column.kind} for column in section.columns],
        "rows": [plain(section, row) for row in section.rows],
    }


def _text(section: Section) -> str:
    columns = [column for column in section.columns if column.table]
    lines = [[column.name for column in columns]]
    lines += [[shown(row[column.name], column) for column in columns] for row in section.rows]
    body = _aligned(lines, [column.kind == "text" for column in columns])
    return "\n".join(part for part in (section.title, section.note, body) if part) + "\n"


def _aligned(lines: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    widths = [max(len(line[at]) for line in lines) for at in range(len(left))]
    cells = [
        [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        ]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in cells)
