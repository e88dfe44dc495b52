"""How does a report look as JSON, as CSV and as a table for people? The same figures; only the table rounds."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from accounting.money import format_plain
from accounting.reports.footing import Cents, cent_digits, printed

if TYPE_CHECKING:
    from accounting.reports.base import Column, Footer, Node, Report
    from accounting.reports.convert import Conversion

UNKNOWN = "-"
_EXTRA = ("amount", "event_share", "token_share", "note")


def to_json(report: Report) -> dict[str, Any]:
    """A JSON object; amounts and percentages are plain decimal strings, unknown is null."""
    return {
        "report": report.name,
        "parameters": report.parameters,
        "columns": [{"name": column.name, "kind": column.kind} for column in report.columns],
        "rows": [_plain(row) for row in report.rows],
        "totals": [_plain(row) for row in report.totals],
        "coverage": [_plain(row) for row in report.coverage],
        "footer": [_plain(vars(line)) for line in report.footer],
        "conversions": [_plain(vars(line)) for line in report.conversions],
    }


def to_csv(report: Report) -> str:
    """One heading and one width throughout: details above their totals, then `coverage:STATUS`, `footer:NAME` and, with columns of their
    own, `conversion:MEASURE` rows; unknown is empty."""
    names = [column.name for column in report.columns]
    told = [name for name in vars(report.conversions[0]) if name != "amount"] if report.conversions else []
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, *_EXTRA, *told], restval="", extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    for node in report.nodes():
        writer.writerow(_plain(node.row))
    for row in report.coverage:
        writer.writerow(_plain({**row, "row": f"coverage:{row['status']}"}))
    for line in report.footer:
        writer.writerow(_plain({**vars(line), "row": f"footer:{line.name}"}))
    for conversion in report.conversions:
        writer.writerow(_plain({**vars(conversion), "row": f"conversion:{conversion.measure}"}))
    return text.getvalue()


def to_table(report: Report) -> str:
    """Aligned text: details above their totals, cents that foot, then coverage and footer in full precision."""
    several = len({node.row["billing_currency"] for node in report.outline}) > 1
    columns = [column for column in report.columns if column.table and (several or column.name != "billing_currency")]
    lines = [_cells(node, cents, columns) for node, cents in printed(report.outline, report.columns)]
    asked = report.query
    heading = f"{report.name}  {asked.start.isoformat()} to {asked.end.isoformat()}  {asked.tz}{currency_of(report)}"
    blocks = [
        heading,
        _aligned([[column.name for column in columns], *lines], [column.kind == "text" for column in columns]),
        _aligned([_COVERAGE, *(_coverage_cells(row) for row in report.coverage)], [True, False, False, False, False]),
        _aligned([_footer_cells(line) for line in report.footer], [True, False, True, True]),
        _aligned(_conversion_lines(report.conversions), [True, True, True, False, True, False, False]),
        "\n".join(dict.fromkeys(_origin(line) for line in report.conversions)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


_COVERAGE = ["coverage", "events", "% of events", "tokens", "% of tokens"]


def _coverage_cells(row: dict[str, Any]) -> list[str]:
    shares = [UNKNOWN if row[name] is None else format_plain(row[name]) for name in ("event_share", "token_share")]
    tokens = UNKNOWN if row["tokens"] is None else f"{row['tokens']:,}"
    return [row["status"], f"{row['events']:,}", shares[0], tokens, shares[1]]


def _footer_cells(line: Footer) -> list[str]:
    return [line.name, format_plain(line.amount), line.billing_currency, line.note]


def _conversion_lines(conversions: Sequence[Conversion]) -> list[list[str]]:
    if not conversions:
        return []
    heading = ["conversion", "day", "from", "amount", "rate_date", "rate", f"in {conversions[0].to_currency}"]
    lines = [
        [
            line.measure,
            line.day.isoformat(),
            line.from_currency,
            format_plain(line.amount),
            line.rate_date.isoformat(),
            format_plain(line.rate),
            format_plain(line.converted),
        ]
        for line in conversions
    ]
    return [heading, *lines]


def _origin(line: Conversion) -> str:
    return f"rates: {line.source} ({line.source_version}); {line.rule}"


def currency_of(report: Report) -> str:
    """The currency that a heading names: of all rows, where no column tells them apart."""
    found = {node.row["billing_currency"] for node in report.outline}
    return f"  {found.pop()}" if len(found) == 1 else ""


def _cells(node: Node, cents: Cents, columns: Sequence[Column]) -> list[str]:
    cells = [_cell(node.row[column.name], column, cents, cent_digits(node.row)) for column in columns]
    if columns[0].kind == "text" and node.row["row"] not in ("detail", "user"):
        cells[0] = (
            f"{node.row['row']} {cells[0]}".strip().replace("_", " ") if cells[0] else node.row["row"].replace("_", " ")
        )
    return cells


def _cell(value: Any, column: Column, cents: Cents, digits: int) -> str:
    if column.kind == "text":
        return value or ""
    if value is None:
        return UNKNOWN
    if column.kind == "money":
        return _cents(cents.get(column.name, 0), digits)
    return f"{value:,}" if column.kind == "count" else format_plain(value)


def _cents(value: int, digits: int) -> str:
    sign, (units, rest) = "-" if value < 0 else "", divmod(abs(value), 10**digits)
    return f"{sign}{units:,}.{rest:0{digits}d}" if digits else f"{sign}{units:,}"


def _aligned(lines: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    if not lines:
        return ""
    widths = [max(len(line[at]) for line in lines) for at in range(len(left))]
    padded = [
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(line, widths, left, strict=True)
        )
        for line in lines
    ]
    return "\n".join(line.rstrip() for line in padded)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _written(value) for name, value in row.items()}


def _written(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format_plain(value)
    return value.isoformat() if isinstance(value, date) else value
