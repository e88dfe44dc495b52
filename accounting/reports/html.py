"""How does a report become one page that needs nothing else: no script, no style sheet, no picture from elsewhere?"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from html import escape
from typing import Any

from accounting.reports.base import Column, Report, Row
from accounting.reports.footing import cent_digits, printed
from accounting.reports.render import currency_of
from accounting.reports.sections import Section, SectionedReport, shown

MEDIA_TYPE = "text/html; charset=utf-8"
_STYLE = """
body{font:14px/1.4 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#1b1b1b;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}p.note{color:#555;max-width:60rem}
div.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd;white-space:nowrap}
th.text,td.text{text-align:left}tr.total td{font-weight:600;border-top:1px solid #555}
svg{max-width:40rem;border:1px solid #ddd}
@media print{body{margin:0;max-width:none;font-size:9pt}h2{break-after:avoid}tr{break-inside:avoid}div.wide{overflow:visible}}
"""
_COLOURS = ("#1f6feb", "#b35900", "#1a7f37", "#8250df", "#cf222e", "#57606a")
_WIDTH, _HEIGHT, _EDGE = 560, 320, 40
_DETAIL = ("detail", "user")


def to_html(report: Report) -> str:
    """The report as a printable page: statement with footed cents, sections, curves as inline SVG, coverage and footer."""
    asked = report.query
    title = f"{report.name} {asked.start.isoformat()} to {asked.end.isoformat()}"
    sections = report.sections if isinstance(report, SectionedReport) else ()
    parts = [
        f"<h1>{escape(title)}</h1><p class=note>{escape(asked.tz)}{escape(currency_of(report))}</p>",
        _statement(report),
        *(_section(section) for section in sections),
        _plain_table("Coverage", report.coverage, ("status", "events", "event_share", "tokens", "token_share")),
        _plain_table("Footer", [vars(line) for line in report.footer], ("name", "amount", "billing_currency", "note")),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _statement(report: Report) -> str:
    several = len({node.row["billing_currency"] for node in report.outline}) > 1
    columns = [column for column in report.columns if column.table and (several or column.name != "billing_currency")]
    lines = []
    for node, cents in printed(report.outline, report.columns):
        digits = cent_digits(node.row)
        kind = node.row["row"]
        cells = [_money_or(node.row[column.name], column, cents.get(column.name), digits) for column in columns]
        at = next(
            (at for at, column in enumerate(columns) if column.kind == "text" and column.name != "billing_currency"), 0
        )
        if kind not in _DETAIL:
            cells[at] = f"{kind} {cells[at]}".replace("_", " ").strip()
        lines.append((cells, "" if kind in _DETAIL else "total"))
    return _table(columns, lines)


def _money_or(value: Any, column: Column, cents: int | None, digits: int) -> str:
    if column.kind == "money" and value is not None and cents is not None:
        sign, (units, rest) = "-" if cents < 0 else "", divmod(abs(cents), 10**digits)
        return f"{sign}{units:,}.{rest:0{digits}d}" if digits else f"{sign}{units:,}"
    return shown(value, column)


def _section(section: Section) -> str:
    columns = [column for column in section.columns if column.table]
    lines = [([shown(row[column.name], column) for column in columns], "") for row in section.rows]
    curve = _curve(section) if section.curve and section.rows else ""
    note = f"<p class=note>{escape(section.note)}</p>" if section.note else ""
    return f"<h2>{escape(section.title)}</h2>{note}{curve}{_table(columns, lines)}"


def _plain_table(title: str, rows: Sequence[Row], names: Sequence[str]) -> str:
    columns = [
        Column(name, "text" if name in ("status", "name", "note", "billing_currency") else "number") for name in names
    ]
    lines = [([shown(row[column.name], column) for column in columns], "") for row in rows]
    return f"<h2>{escape(title)}</h2>{_table(columns, lines)}" if rows else ""


def _table(columns: Sequence[Column], lines: Sequence[tuple[Sequence[str], str]]) -> str:
    head = "".join(f"<th{_text(column)}>{escape(column.name)}</th>" for column in columns)
    body = []
    for cells, kind in lines:
        row = "".join(f"<td{_text(column)}>{escape(cell)}</td>" for cell, column in zip(cells, columns, strict=True))
        body.append(f"<tr{f' class={kind}' if kind else ''}>{row}</tr>")
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"


def _text(column: Column) -> str:
    return " class=text" if column.kind == "text" else ""


def _curve(section: Section) -> str:
    """Lines of each label's columns over the first of them; the scale reaches from the least to the most of all."""
    label, across, *names = section.curve
    known = [row for row in section.rows if all(row[name] is not None for name in (across, *names))]
    if not known:
        return ""
    values = [Decimal(row[name]) for row in known for name in names]
    low, high = min([*values, Decimal(0)]), max([*values, Decimal(100)])
    lines, legend = [], []
    keys = list(dict.fromkeys(str(row[label]) for row in known))
    for number, key in enumerate(keys):
        colour = _COLOURS[number % len(_COLOURS)]
        for name in names:
            own = [row for row in known if str(row[label]) == key]
            points = " ".join(_point(Decimal(row[across]), Decimal(row[name]), low, high) for row in own)
            dash = "" if name == names[0] else ' stroke-dasharray="4 3"'
            lines.append(f'<polyline fill="none" stroke="{colour}"{dash} points="{points}"/>')
        legend.append(
            f'<text x="{_EDGE + 8}" y="{_EDGE + 14 * number}" fill="{colour}" font-size="11">{escape(key)}</text>'
        )
    zero, hundred = _point(Decimal(0), Decimal(0), low, high), _point(Decimal(100), Decimal(0), low, high)
    axis = f'<polyline fill="none" stroke="#999" points="{zero} {hundred}"/>'
    described = escape(f"{section.title}: {names[0]} solid, {', '.join(names[1:])} dashed, over {across}")
    return (
        f'<svg role="img" aria-label="{described}" viewBox="0 0 {_WIDTH} {_HEIGHT}"><title>{described}</title>'
        f"{axis}{''.join(lines)}{''.join(legend)}</svg>"
    )


def _point(across: Decimal, up: Decimal, low: Decimal, high: Decimal) -> str:
    x = _EDGE + across * (_WIDTH - 2 * _EDGE) / 100
    y = _HEIGHT - _EDGE - (up - low) * (_HEIGHT - 2 * _EDGE) / (high - low)
    return f"{x:.1f},{y:.1f}"
