"""How did one event's cost come about? Its names, price rows, quantities and ledger lines, as the API tells them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import frame, states
from dashboard.api import segment
from dashboard.definitions import label

_COMPONENTS = (
    {"name": "token_class", "kind": "text"},
    {"name": "quantity", "kind": "count"},
    {"name": "list_unit_price", "kind": "number"},
    {"name": "contracted_unit_price", "kind": "number"},
    {"name": "list_cost", "kind": "money"},
    {"name": "contracted_cost", "kind": "money"},
    {"name": "effective_cost", "kind": "money"},
)
_LINES = (
    "charge_id",
    "category",
    "class",
    "charge_status",
    "effective_cost",
    "booking_period",
    "basis",
    "reason",
    "created_at",
)


def show(event_id: str) -> None:
    """The derivation of one event, with the URL that returns it."""
    answer = states.ask(f"/v1/usage/events/{segment(event_id)}/explain")
    told: dict[str, Any] = answer.data
    outcome = told["outcome"]
    currency = outcome["billing_currency"]
    st.subheader(f"How `{event_id}` came about", anchor=False)
    at = st.columns(3)
    frame.metric("effective_cost", outcome["effective_cost"], currency=currency, at=at[0])
    frame.metric("list_cost", outcome["list_cost"], currency=currency, at=at[1])
    at[2].metric("Status", outcome["status"], help=outcome["reason"] or "By the price rows below.", border=True)
    st.markdown(_names(told["matched"]))
    parts = [{**row, "billing_currency": currency} for row in told["components"]]
    if parts:
        known = [column for column in _COMPONENTS if column["name"] in parts[0]]
        frame.table(parts, known, "Token classes: quantity times price per million (counted things: per thousand)")
    left, right = st.columns(2)
    _price("List price", told["list_price"], left)
    _price("Contracted price", told["contracted_price"], right)
    lines = [{**row, "billing_currency": currency} for row in told["lines"]]
    kinds = [{"name": name, "kind": "money" if name.endswith("cost") else "text"} for name in _LINES]
    known = [column for column in kinds if lines and column["name"] in lines[0]]
    frame.table(lines, known, "Ledger lines of the event, oldest first")
    frame.source(answer, f"explain-{event_id}", downloads=False)


def _names(matched: dict[str, Any]) -> str:
    logged = f"`{matched['provider']}` / `{matched['logged_model']}`"
    if matched["priced_model"] is None:
        return f"Logged as {logged}; no price is known for it."
    return f"Logged as {logged}, priced as `{matched['seller']}` / `{matched['priced_model']}` ({matched['how']})."


def _price(title: str, row: dict[str, Any] | None, at: Any) -> None:
    if row is None:
        at.caption(f"{title}: none")
        return
    named = [
        {"field": label(name), "value": str(value)} for name, value in row.items() if value not in (None, "", {}, [])
    ]
    columns = [{"name": "field", "kind": "text"}, {"name": "value", "kind": "text"}]
    frame.table(named, columns, f"{title}: the row that was applied", at=at)
