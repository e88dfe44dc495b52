"""What did we spend, on what? Any two dimensions, any filter, down to one charge and how it came about."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import streamlit as st

from dashboard import charts, derivation, frame, plot, rows, session, states, url_state
from dashboard.api import Answer
from dashboard.definitions import define, label

TIMES = ("month", "day")
DIMENSIONS = (
    "model",
    "seller",
    "purpose",
    "category",
    "charge_status",
    "user_id",
    "account_id",
    "feature",
    "deployment",
    "basis",
)
NONE = "none"
MOST_PARTS = 30
"""Parts of a bar that can still be told apart."""
_ROWS = "2000"
_MEASURES = ("effective_cost", "list_cost", "billed_cost", "events", "unpriced_events", "pending_events", "tokens")
_CHARGE = (
    {"name": "occurred_at", "kind": "moment"},
    {"name": "subject_id", "kind": "text", "label": "Event or subject"},
    {"name": "charge_status", "kind": "text"},
    {"name": "seller", "kind": "text"},
    {"name": "model", "kind": "text"},
    {"name": "purpose", "kind": "text"},
    {"name": "user_id", "kind": "text"},
    {"name": "uncached_input_tokens", "kind": "count", "label": "Uncached input"},
    {"name": "cache_read_tokens", "kind": "count", "label": "Cache read"},
    {"name": "cache_write_tokens", "kind": "count", "label": "Cache write"},
    {"name": "output_tokens", "kind": "count", "label": "Output"},
    {"name": "effective_cost", "kind": "money"},
    {"name": "basis", "kind": "text"},
)


def page() -> None:
    st.title("Cost explorer")
    names = {name: label(name) for name in (*TIMES, *DIMENSIONS)}
    at = st.columns(2)
    first = url_state.choice("dim", "Rows", names, "day", at=at[0])
    second = url_state.choice("split", "Split by", {NONE: "Nothing", **names}, "model", at=at[1])
    filters = _filters()
    by = [name for name in dict.fromkeys((first, second)) if name != NONE]
    answer = frame.report("explore", group_by=",".join(by), filter=filters, limit=_ROWS)
    if not answer.rows:
        states.empty("No usage that fits", "Take a filter away, or choose another period.")
        return
    frame.note_coverage(answer)
    for currency in rows.currencies(answer):
        _block(answer, by, currency)
    frame.source(answer, "explore")
    _charges(filters)


def _filters() -> list[str]:
    """Filters as the API takes them; a value is chosen among those of the period, or typed."""
    chosen: list[str] = []
    with st.expander("Filters", icon=":material/filter_alt:", expanded=_any_in_url()):
        for name, at in zip(DIMENSIONS, cycle(st.columns(4)), strict=False):
            value = url_state.pick(name, label(name), _values(name), define(name), at)
            chosen += [f"{name}:{value}"] if value else []
    return chosen


def _any_in_url() -> bool:
    return any(name in st.query_params for name in DIMENSIONS)


def _values(name: str) -> list[str]:
    """Values that the period has, where a rollup knows them at once; others are typed."""
    if name not in ("model", "seller", "purpose", "category", "charge_status"):
        return []
    answer = frame.report("explore", group_by=name, limit="200", currency=None)
    return [str(row[name]) for row in answer.rows if row.get(name)]


def _block(answer: Answer, by: list[str], currency: str) -> None:
    own = rows.of(answer.rows, billing_currency=currency)
    total = rows.total(answer, "total", currency)
    if total is None:
        return
    at = st.columns(3)
    frame.metric("effective_cost", total["effective_cost"], currency=currency, title=f"Cost, {currency}", at=at[0])
    frame.metric("list_cost", total["list_cost"], currency=currency, at=at[1])
    frame.metric("events", str(total["events"]), "count", at=at[2])
    if rows.of(own, row="remaining"):
        st.info(f"More than {_ROWS} rows: a chart would lack the rest. Filter, or choose months or another split.")
    else:
        _chart(own, by, currency)
    shown = [*rows.named(own, by[0]), {**total, by[0]: "Total"}]
    columns = frame.columns(answer, *by, *_MEASURES)
    frame.table(shown, columns, f"Cost by {' and '.join(label(name).lower() for name in by)}, {currency}")


def _chart(own: list[rows.Row], by: list[str], currency: str) -> None:
    times = [name for name in by if name in TIMES]
    first = times[0] if times else by[0]
    other = next((name for name in by if name != first), None)
    title = f"Cost by {' and '.join(label(name).lower() for name in by)}, {currency}"
    if other is None and not times:
        if len(own) <= MOST_PARTS:
            plot.draw(charts.ranked(own, first, "effective_cost", currency, currency), f"explore-{currency}", title)
        return
    parts = {row[other] for row in own} if other else set()
    if len(parts) > MOST_PARTS:
        st.info(
            f"{len(parts):,} values of {label(other or '').lower()} are too many for a chart: filter, or split by another."
        )
        return
    said = own if other else [{**row, "cost": "effective cost"} for row in own]
    made = charts.stacked(said, first, other or "cost", "effective_cost", ("", currency), currency)
    plot.draw(made, f"explore-{currency}", title)


def _charges(filters: list[str]) -> None:
    st.subheader("Single charges", anchor=False)
    reader = session.reader()
    if not reader.may("analyst"):
        st.caption("A key of scope analyst or admin shows the single charges that these figures are sums of.")
        return
    orders = {"cost": "The dearest first", "time": "The newest first"}
    at = st.columns(2, vertical_alignment="bottom")
    order = url_state.choice("order", "Order", orders, "cost", at=at[0])
    if not url_state.flag(
        "charges",
        "Show single charges",
        "Sorts the ledger lines of the period, which takes seconds for millions.",
        at[1],
    ):
        return
    answer = states.ask(
        "/v1/charges",
        **reader.period,
        tz=reader.tz,
        filter=filters,
        order=order,
        limit=50,
        cursor=_cursor(filters, order),
    )
    lines: list[dict[str, Any]] = answer.data["charges"]
    frame.table(lines, _CHARGE, "Ledger lines, 50 a page")
    _pages(answer)
    frame.source(answer, "charges", downloads=False)
    frame.files(lines, list(lines[0]) if lines else [], "charges")
    events = [line["subject_id"] for line in lines if line["subject_kind"] == "event"]
    event = url_state.pick(
        "event", "How did one come about?", events, "An event's id: its price rows, quantities and later lines."
    )
    if event:
        derivation.show(event)


def _cursor(filters: list[str], order: str) -> str | None:
    """The page that is read; another question begins at its first page."""
    reader = session.reader()
    asked = (reader.start, reader.end, reader.tz, order, *filters)
    if st.session_state.get("charges_of") != asked:
        st.session_state["charges_of"], st.session_state["cursors"] = asked, []
    cursors: list[str] = st.session_state["cursors"]
    return cursors[-1] if cursors else None


def _pages(answer: Answer) -> None:
    cursors: list[str] = st.session_state["cursors"]
    at = st.columns([1, 1, 6])
    at[0].button("Back", disabled=not cursors, on_click=_back)
    at[1].button("Next", disabled=answer.data["next"] is None, on_click=lambda: cursors.append(answer.data["next"]))


def _back() -> None:
    st.session_state["cursors"].pop()
