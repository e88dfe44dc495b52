"""What stands under every chart and table? The URL that returns its figures, its files, and the figures as a table."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from dashboard import money, url_state
from dashboard.api import Answer
from dashboard.definitions import define, label
from dashboard.session import reader
from dashboard.states import ask

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MOST_ROWS = 500
"""Rows of a table on a page; all of them are in the files."""
DRAWING = "drawing"
"""Kind of a column of SVG that charts.spark made; it goes into the page as it is."""
WORDS = "words"
"""Kind of a column of codes, as `cost_of_revenue`: people read words, and hovering shows the code."""
_CODES = ("statement_line", "check", "status", "reason", "charge_status", "purpose", "basis", "kind")
_NUMERIC = ("money", "count", "percent", "number")
_MARKED = ("total", "subtotal", "total_free_tier_in", "total_free_tier_out")
PLOT: dict[str, Any] = {
    "displaylogo": False,
    "displayModeBar": True,
    "modeBarButtonsToRemove": ["zoom", "pan", "select", "lasso", "zoomIn", "zoomOut", "autoScale"],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}
"""For st.plotly_chart(config=...): the camera saves what is on screen as PNG."""


def report(name: str, **more: Any) -> Answer:
    """A report of the reader's period, zone and currency; `more` goes before these; None leaves a parameter out."""
    chosen = reader()
    asked = {**chosen.period, "tz": chosen.tz, "currency": chosen.currency} | more
    return ask(f"/v1/reports/{name}", **asked)


def columns(answer: Answer, *names: str, leave: Sequence[str] = ("row",)) -> list[dict[str, str]]:
    """The columns of a report by name, in that order; without names all but `leave`, and no currency where all rows have one."""
    found: dict[str, dict[str, str]] = {column["name"]: column for column in answer.data["columns"]}
    if names:
        return [found[name] for name in names if name in found]
    one = len({row.get("billing_currency") for row in answer.data["rows"]}) < 2
    left = {*leave, "billing_currency"} if one else {*leave}
    return [column for name, column in found.items() if name not in left]


def cell(value: Any, kind: str, currency: str | None, exact: bool = False) -> tuple[str, str]:
    """(what is shown, what hovering shows) of one value of a report."""
    if kind == "money":
        return (money.exactly if exact else money.amount)(value, currency), money.exactly(value, currency)
    if value is None:
        return money.UNKNOWN, "not known" if kind in _NUMERIC else ""
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if kind == "percent":
        return (f"{text} %" if exact else money.percent(text)), f"{text} %"
    if kind == WORDS:
        return text.replace("_", " "), text
    shown = _BRIEF.get(kind)
    return (text if shown is None or (exact and kind == "number") else shown(value)), text


def _minute(moment: str) -> str:
    """A moment to the minute."""
    return moment[:16].replace("T", " ")


def _whole(value: Any) -> str:
    """A count, whether it came as a number or as text."""
    return money.count(int(value))


_BRIEF: Mapping[str, Callable[[Any], str]] = {"count": _whole, "number": money.number, "moment": _minute}


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, str]],
    caption: str,
    currency: str = "billing_currency",
    at: Any = st,
) -> None:
    """A table that screen readers read and whose amounts show every digit when hovered over.

    Args:
        rows: as the API sent them, in its order.
        columns: name, kind and maybe label of each, as a report's JSON has them; beside its kinds `moment`, `prose` (wrapped) and
            `drawing`. meaning: where it is another than the name's own (`define`).
        caption: what it shows. currency: key of each row that names its amounts' currency.
    """
    exact = reader().exact
    head = "".join(_heading(column) for column in columns)
    body = "".join(_line(row, columns, currency, exact) for row in rows[:MOST_ROWS])
    at.html(
        f'<div class="tc-table" tabindex="0" role="region" aria-label="{html.escape(caption, quote=True)}"><table>'
        f"<caption><span>{html.escape(caption)}</span></caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    if len(rows) > MOST_ROWS:
        at.caption(f"The first {MOST_ROWS:,} of {len(rows):,} rows; the files have all.")


def _heading(column: Mapping[str, str]) -> str:
    meaning = column.get("meaning") or define(column["name"])
    title = f' title="{html.escape(meaning, quote=True)}"' if meaning else ""
    number = ' class="n"' if column["kind"] in _NUMERIC else ""
    return f'<th scope="col"{number}{title}>{html.escape(column.get("label") or label(column["name"]))}</th>'


def _line(row: Mapping[str, Any], columns: Sequence[Mapping[str, str]], currency: str, exact: bool) -> str:
    mark = str(row.get("row", ""))
    cells = []
    for column in columns:
        if column["kind"] == DRAWING:
            cells.append(f"<td>{row.get(column['name']) or ''}</td>")
            continue
        coded = column["kind"] == "text" and column["name"] in _CODES
        shown, hover = cell(row.get(column["name"]), WORDS if coded else column["kind"], row.get(currency), exact)
        kinds = ["n" if column["kind"] in _NUMERIC else "prose" if column["kind"] == "prose" else "text"]
        kinds += ["neg"] if shown.startswith("\N{MINUS SIGN}") else []
        cells.append(
            f'<td class="{" ".join(kinds)}" title="{html.escape(hover, quote=True)}">{html.escape(shown)}</td>'
        )
    own = " class=" + ("total" if mark.startswith("total") else "subtotal") if mark in _MARKED else ""
    return f"<tr{own}>{''.join(cells)}</tr>"


def metric(
    name: str,
    value: str | None,
    kind: str = "money",
    currency: str | None = None,
    title: str | None = None,
    at: Any = st,
    delta: str | None = None,
    delta_color: Literal["normal", "inverse", "off"] = "off",
) -> None:
    """One figure with its definition and its exact value one hover away; `delta` tells how it changed, `inverse` where less is better."""
    shown, exact = cell(value, kind, currency, reader().exact)
    if kind == "money" and not reader().exact:
        shown = money.short(value, currency)
    help_ = f"{define(name) or ''}\n\nExactly: {exact}".strip()
    # Streamlit knows a fall by its ASCII sign.
    told = None if delta is None else delta.replace("\N{MINUS SIGN}", "-")
    at.metric(
        title or label(name), shown, delta=told, delta_color=delta_color, help=help_, border=True, height="stretch"
    )


def source(answer: Answer, name: str, downloads: bool = True, at: Any = st) -> None:
    """Where the figures come from, and their files.

    Args:
        answer: what was drawn. name: of the files, and of the buttons; once a page.
        downloads: whether the route writes CSV and XLSX itself (reports do); else see `files`.
    """
    with at.expander("Where these figures come from", icon=":material/link:"):
        st.markdown("This URL returns them to anyone with a key of your tenant:")
        st.code(f"curl -H \"Authorization: Bearer $TOKENCOGS_KEY\" '{answer.url}'", language="sh", wrap_lines=True)
    if downloads:
        # A file is fetched when its button is pressed, in a thread that knows no session.
        api = reader().api
        path, _, query = answer.url.removeprefix(api.address.public_url).partition("?")
        joined = f"{path}?{query}&" if query else f"{path}?"
        _buttons(
            name,
            lambda: api.file(f"{joined}format=csv"),
            lambda: api.file(f"{joined}format=xlsx"),
            at,
        )


def files(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], name: str, at: Any = st) -> None:
    """The rows of a list as CSV, every digit as the API sent it."""
    at.download_button("CSV", to_csv(rows, columns), f"{name}.csv", "text/csv", key=f"csv:{name}", on_click="ignore")


def to_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """CSV of rows as they came; unknown is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _buttons(name: str, as_csv: Callable[[], bytes], as_xlsx: Callable[[], bytes], at: Any) -> None:
    place = at.container(horizontal=True)
    place.download_button("CSV", as_csv, f"{name}.csv", "text/csv", key=f"csv:{name}", on_click="ignore")
    place.download_button("XLSX", as_xlsx, f"{name}.xlsx", XLSX, key=f"xlsx:{name}", on_click="ignore")


def note_coverage(answer: Answer, at: Any = st) -> None:
    """Says what the amounts do not cover, where they don't cover everything."""
    missing = [row for row in answer.data["coverage"] if row["status"] != "priced" and row["events"]]
    if missing:
        told = ", ".join(f"{money.count(row['events'])} {row['status'].replace('_', ' ')}" for row in missing)
        at.warning(f"Not in these amounts: {told} events. See Data quality.", icon=":material/visibility_off:")
        url_state.link("quality", "Data quality says what to do", at, ":material/fact_check:")


__all__ = ["PLOT", "cell", "columns", "files", "metric", "note_coverage", "report", "source", "table", "to_csv"]
