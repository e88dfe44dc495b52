"""What would the recent workload cost under other prices, or by another model? The part of the prices page that asks it."""

from __future__ import annotations

import streamlit as st

from dashboard import frame, session, states, url_state
from dashboard.api import Answer


def show() -> None:
    """Asks for the other prices, and shows the recent workload under them by feature and plan."""
    if not session.reader().may("analyst"):
        st.caption("A key of scope analyst or admin shows what prices would change.")
        return
    at = st.columns(3)
    days = url_state.choice(
        "days", "Workload of the last", {"30": "30 days", "60": "60 days", "90": "90 days"}, "30", at=at[0]
    )
    model = url_state.words("replace", "Replace the model", at=at[1], placeholder="gpt-5.4")
    by = url_state.words("with", "with", at=at[2], placeholder="gpt-5.4-mini")
    proposed = url_state.flag("proposed", "Rows that wait for a decision, instead of announced ones")
    if bool(model) != bool(by):
        states.empty("Name both models", "The one that is used, and the one in its place.")
        return
    answer = states.ask(
        "/v1/prices/impact", days=days, model=model, by=by, proposed="true" if proposed and not model else None
    )
    _impacted(answer)
    frame.source(answer, "impact", downloads=False)


def _impacted(answer: Answer) -> None:
    told = answer.data
    for warning in told["warnings"]:
        st.warning(warning)
    at = st.columns(2)
    frame.metric("events", str(told["events_read"]), "count", title="Calls read", at=at[0])
    frame.metric("events", str(told["events_affected"]), "count", title="Calls affected", at=at[1])
    if not told["lines"]:
        states.empty(
            "Nothing would change", "No announced price concerns this workload; name two models to compare them."
        )
        return
    amounts = [{"name": name, "kind": "money"} for name in ("cost_now", "cost_then", "difference")]
    costs = [{"name": "events", "kind": "count"}, *amounts, {"name": "difference_percent", "kind": "percent"}]
    names = [{"name": "feature", "kind": "text"}, {"name": "plan", "kind": "text"}]
    frame.table(
        [*told["lines"], *({**row, "feature": "Total", "row": "total"} for row in told["totals"])],
        [*names, *costs],
        "What it would cost, by feature and plan",
    )
    frame.files(told["lines"], [column["name"] for column in (*names, *costs)], "impact")
