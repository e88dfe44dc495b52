"""What do we pay for a token, since when, who says so, and what would another price cost us?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import actions, charts, frame, impact, plot, session, states, url_state

TABS = {
    "book": "Price book",
    "history": "History of a model",
    "changes": "Changes",
    "disagreements": "Disagreements",
    "approvals": "Approvals",
    "impact": "Impact",
}
_CLASSES = ("uncached_input", "cache_read", "cache_write", "output")
_ROW = ("seller", "model", "service_tier", "region", "above_input_tokens")
_DATED = ("effective_from", "effective_until", "source", "checked_on")
_MOST = 400
_KINDS = {"above_input_tokens": "count"}
_LABELS = {
    "service_tier": {"label": "Tier"},
    "above_input_tokens": {"label": "Above tokens"},
    "uncached_input": {"label": "Input"},
}
_ACTS = ["prices", "contract", "alerts"]
"""What acts of this page are about: those on keys and pools would push them out of the newest hundred."""
_ACT = ("at", "actor", "for", "action", "subject", "before", "after")


def page() -> None:
    st.title("Prices")
    actions.tell()
    chosen = url_state.tabs("view", "Show", TABS, "book")
    {
        "book": _book,
        "history": _history,
        "changes": _changes,
        "disagreements": _disagreements,
        "approvals": _approvals,
        "impact": impact.show,
    }[chosen]()


def _book() -> None:
    at = st.columns(2)
    used = _used()
    offered = used[0] if used else ""
    told = "By its exact name; those of the period are offered, the dearest first."
    model = url_state.pick("model", "Model", used, told, at[0], offered)
    seller = url_state.words("seller", "Seller", at=at[1], placeholder="openai")
    if not seller and not model:
        if not used:
            states.empty("The book has thousands of rows", "Name a seller or a model; `openai`, for one.")
            return
        model = offered
        st.caption(f"`{model}` cost most in the period; choose or type another model above.")
    answer = states.ask("/v1/prices", seller=seller, model=model)
    found: list[dict[str, Any]] = answer.data["prices"]
    if not found:
        states.empty(
            "No row fits", "Check the spelling, or look at Data quality: a model without a price is named there."
        )
        return
    st.caption(
        "Per million tokens; counted things per thousand. Rows of your contracts and your own come before the list."
    )
    _table(found, "Price rows that you pay by")
    frame.source(answer, "prices", downloads=False)
    frame.files([_flat(row) for row in found], [*_ROW, *_CLASSES, *_DATED, "currency", "sku_price_id"], "prices")


def _history() -> None:
    used = _used()
    model = url_state.pick("model", "Model", used, "By any of its exact names.", none="") or (used[0] if used else "")
    if not model:
        states.empty("Name a model", "What every source says of it appears here, over time.")
        return
    answer = states.ask("/v1/prices/history", model=model)
    found = [_flat(row) for row in answer.data["rows"]]
    dated = [row for row in found if row["effective_from"]]
    if dated:
        known = [{**row, "of": f"{row['seller']} {row['service_tier']} {row['list_source']}"} for row in dated]
        known.sort(key=lambda row: str(row["effective_from"]))
        made = charts.steps(known, "effective_from", "output", "of", ("in force from", "per million output tokens"))
        plot.draw(made, "price-history", f"Output price of {model} over time")
    else:
        st.caption("No source dates a change of this price: the rows below hold for all time.")
    _table(answer.data["rows"], f"What sources say of {model}", ("list_source", "state", "in_force"))
    frame.source(answer, "price-history", downloads=False)
    frame.files(found, [*_ROW, *_CLASSES, *_DATED, "list_source", "state", "in_force"], "price-history")


def _changes() -> None:
    since = url_state.words(
        "known_at", "Changed since", "A day, or a moment with its offset.", placeholder="2026-11-01"
    )
    if since:
        answer = states.ask("/v1/prices/diff", known_at=since)
        for name, title in (("new", "New or changed rows"), ("gone", "Rows that are gone or ended")):
            if answer.data[name]:
                _table(answer.data[name], title)
            else:
                st.caption(f"{title}: none")
        frame.source(answer, "price-changes", downloads=False)
    st.subheader("Who changed what", anchor=False)
    acts = states.ask("/v1/audit", limit=100, kind=_ACTS)
    columns = [{"name": name, "kind": "moment" if name == "at" else "text"} for name in _ACT]
    frame.table(acts.data["acts"], columns, "Acts, the newest first")
    frame.source(acts, "audit", downloads=False)


def _disagreements() -> None:
    answer = states.ask("/v1/prices/disagreements")
    found = answer.data["disagreements"]
    if not found:
        states.empty(
            "No two sources disagree", "Load a second price list to compare: `tokencogs prices import litellm FILE`."
        )
        return
    names = (
        "seller",
        "model",
        "service_tier",
        "token_class",
        "unit_price",
        "list_source",
        "other_unit_price",
        "other_source",
        "holds_from",
    )
    columns = [{"name": name, "kind": "number" if name.endswith("unit_price") else "text"} for name in names]
    frame.table(found, columns, "Where sources state different prices")
    frame.source(answer, "disagreements", downloads=False)
    frame.files(found, list(found[0]), "disagreements")


def _approvals() -> None:
    answer = states.ask("/v1/prices/proposals")
    found: list[dict[str, Any]] = answer.data["proposals"]
    if not found:
        states.empty(
            "Nothing waits for a decision", "Rows of a source that contradict what is in force would stand here."
        )
        frame.source(answer, "proposals", downloads=False)
        return
    _table(found, "Rows that wait for a decision", ("list_source", "sku_price_id"))
    frame.source(answer, "proposals", downloads=False)
    if not session.reader().may("admin"):
        st.caption("An admin key decides.")
        return
    ids = st.multiselect("Rows", [row["sku_price_id"] for row in found])
    at = st.columns([1, 1, 4])
    for place, verb, label in ((at[0], "approve", "Approve"), (at[1], "refuse", "Refuse")):
        if place.button(label, disabled=not ids, width="stretch"):
            actions.act(lambda verb=verb, label=label: _decided(verb, label, ids))  # type: ignore[misc]


def _decided(verb: str, label: str, ids: list[str]) -> str:
    told = session.reader().api.post(f"/v1/prices/{verb}", {"sku_price_ids": ids})
    return f"{label}: {len(told['rows'])} rows. Calls from now on are priced by the book as it is."


def _used() -> list[str]:
    """Priced models of the period, the dearest first; own machines have a bill and no price."""
    answer = frame.report("explore", group_by="model,seller", limit="50", currency=None)
    bought = [row for row in answer.rows if row["model"] and row["seller"] and row["seller"] != "self-hosted"]
    return list(dict.fromkeys(str(row["model"]) for row in bought if row["effective_cost"] is not None))


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """The prices of a row as columns."""
    return {**row, **row["prices"]}


def _table(found: list[dict[str, Any]], caption: str, more: tuple[str, ...] = ()) -> None:
    columns = [{"name": name, "kind": _KINDS.get(name, "text"), **_LABELS.get(name, {})} for name in _ROW]
    columns += [{"name": name, "kind": "number", **_LABELS.get(name, {})} for name in _CLASSES]
    kinds = {"effective_from": "moment", "effective_until": "moment"}
    columns += [{"name": name, "kind": kinds.get(name, "text")} for name in ("currency", *_DATED, *more)]
    shown = [_flat(row) for row in found[:_MOST]]
    columns = [column for column in columns if any(row.get(column["name"]) not in (None, "", 0) for row in shown)]
    frame.table(shown, columns, caption)
    if len(found) > _MOST:
        st.caption(f"The first {_MOST} of {len(found):,} rows; name a model to narrow them.")
