"""Which months are closed, by whom, and what came later? The part of the administration page that shows and closes them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import actions, frame, session, states
from dashboard.api import Answer

ACCEPTABLE = {
    "unpriced": "calls without a price",
    "pending_settlement": "calls that wait for a pool's bill",
    "exceptions": "open exceptions",
    "no_charges": "nothing charged",
}
"""What a close is refused for, unless whoever closes the month says so."""
_CLOSED = (
    {"name": "month", "kind": "text"},
    {"name": "closed_at", "kind": "moment"},
    {"name": "closed_by", "kind": "text"},
    {"name": "billing_currency", "kind": "text"},
    {"name": "effective_cost", "kind": "money"},
    {"name": "billed_cost", "kind": "money"},
    {"name": "left_open", "kind": "text"},
    {"name": "note", "kind": "prose"},
)
_LATE = (
    {"name": "month", "kind": "text", "label": "Closed month"},
    {"name": "booking_period", "kind": "text", "label": "Booked in"},
    {"name": "events", "kind": "count"},
    {"name": "effective_cost", "kind": "money"},
)


def show() -> None:
    """Closed months, what came for them later, and the way to close the next one."""
    st.caption(
        "A closed month never changes and is never reopened: what comes later is booked in the first open month."
    )
    months, late = states.ask_all(("/v1/closed-months", {}), ("/v1/closed-months/late", {}))
    _closed(months)
    st.subheader("What came after the close", anchor=False)
    if late.data["lines"]:
        frame.table(
            [_monthly(row) for row in late.data["lines"]], _LATE, "Booked in a later month than it was incurred in"
        )
    else:
        st.caption("Nothing came for a closed month.")
    frame.source(late, "late", downloads=False)
    frame.files(late.data["lines"], ["month", "booking_period", "billing_currency", "events", "effective_cost"], "late")
    if session.reader().may("admin"):
        _form()
    else:
        st.caption("An admin key closes a month.")


def _closed(answer: Answer) -> None:
    found: list[dict[str, Any]] = answer.data["months"]
    if found:
        shown = [line for month in found for line in _lines(month)]
        frame.table(shown, _CLOSED, "Closed months, the earliest first")
    else:
        states.empty("No month is closed yet", "Close one below once its bills are in; the earliest comes first.")
    frame.source(answer, "closed-months", downloads=False)


def _lines(month: dict[str, Any]) -> list[dict[str, Any]]:
    """A line a currency; a month without any charge has one too."""
    named = {
        **_monthly(month),
        "left_open": ", ".join(_accepted(name, month) for name in month["accepted"]) or "nothing",
    }
    totals: dict[str, dict[str, str]] = month["totals"]
    return [{**named, "billing_currency": currency, **sums} for currency, sums in totals.items()] or [named]


def _accepted(name: str, month: dict[str, Any]) -> str:
    """With the number of what was left open; that nothing was charged has none."""
    if name == "no_charges":
        return ACCEPTABLE[name]
    return f"{ACCEPTABLE[name]}: {month['coverage'].get(name, 0)}"


def _monthly(row: dict[str, Any]) -> dict[str, Any]:
    """The same with months instead of their first days."""
    return {**row, **{name: row[name][:7] for name in ("month", "booking_period") if name in row}}


def _form() -> None:
    with st.form("close-month"):
        st.markdown("**Close a month** for good")
        at = st.columns(2)
        month = at[0].text_input(
            "Month", placeholder="2026-10", help="YYYY-MM; it must be over, and those before it closed."
        )
        note = at[1].text_input("Note", placeholder="signed off by finance")
        accept = st.multiselect("May stay open", list(ACCEPTABLE), format_func=lambda name: ACCEPTABLE[name])
        sure = st.checkbox(
            "It can't be reopened.", help="Without the tick it is only tried: what would keep it from closing?"
        )
        sent = st.form_submit_button("Close", type="primary")
    if sent:
        body = {"month": month.strip(), "note": note.strip(), "accept": accept, "dry_run": not sure}
        actions.act(lambda: _close(body))


def _close(body: dict[str, Any]) -> str:
    session.reader().api.post("/v1/closed-months", body)
    if body["dry_run"]:
        return f"{body['month']} can be closed: nothing stands against it. Tick the box to do so."
    return f"{body['month']} is closed."
