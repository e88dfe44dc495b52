"""Is it right? What has no price, contradicts itself, came late or is estimated; and what to do about each."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from dashboard import actions, frame, money, rows, session, states, url_state
from dashboard.api import segment

_UNPRICED = (
    {"name": "seller", "kind": "text"},
    {"name": "model", "kind": "text"},
    {"name": "reason", "kind": "text"},
    {"name": "events", "kind": "count"},
    {"name": "input_tokens", "kind": "count"},
    {"name": "output_tokens", "kind": "count"},
    {"name": "days", "kind": "count"},
    {"name": "users", "kind": "count"},
    {"name": "first_seen", "kind": "moment"},
    {"name": "last_seen", "kind": "moment"},
)
_EXCEPTION = ("exception_id", "kind", "event_id", "format", "reason", "detail", "occurred_at", "received_at")
_KINDS = {"all": "All", "contradiction": "Contradictions", "conflict": "Conflicts", "finding": "Findings"}


def page() -> None:
    st.title("Data quality")
    actions.tell()
    answer = frame.report("quality", currency=None)
    _checks(answer)
    frame.source(answer, "quality")
    _unpriced()
    _exceptions()


def _checks(answer: Any) -> None:
    known = rows.of(answer.data["coverage"], status="priced")
    late = rows.of(answer.rows, check="late")  # One a currency.
    told = [
        (row, row["check"].capitalize())
        for name in ("unpriced", "excepted")
        for row in rows.of(answer.rows, check=name)
    ]
    told += [(row, "Late" if len(late) == 1 else f"Late, {row['billing_currency']}") for row in late]
    at = st.columns([1, *(1 for _ in told)])
    frame.metric("coverage", known[0]["event_share"], "percent", title="Events with a cost", at=at[0])
    for place, (row, title) in zip(at[1:], told, strict=True):
        frame.metric(f"{row['check']}_events", str(row["events"]), "count", title=title, at=place)
    named = [{**row, "check": row["check"].replace("_", " ")} for row in answer.rows]
    columns = frame.columns(answer, "check", "events", "share", "booked_amount", "estimate")
    frame.table(named, [*columns, {"name": "meaning", "kind": "prose"}], "What is not certain in the period")


def _unpriced() -> None:
    st.subheader("Models without a price", anchor=False)
    answer = states.ask("/v1/prices/unpriced")
    found: list[dict[str, Any]] = answer.data["unpriced"]
    if not found:
        states.empty("Every model has a price", "Nothing to do. A new model appears here with its first call.")
        return
    st.caption("Of all time. What they would cost is not guessed: tokens and users say how much hangs on it.")
    frame.table(found, _UNPRICED, "Usage without a price")
    frame.source(answer, "unpriced", downloads=False)
    frame.files(found, list(found[0]), "unpriced")
    if session.reader().may("admin"):
        _assign(found)
    else:
        st.caption("An admin key can say what such a model costs.")


def _assign(found: list[dict[str, Any]]) -> None:
    with st.form("assign"):
        st.markdown(
            "**Assign a price**: say which model it is priced as; its backlog is priced by the rows in force at each call."
        )
        at = st.columns(3, vertical_alignment="bottom")
        names = [f"{row['seller']}/{row['model']}" for row in found]
        which = at[0].selectbox("Model without a price", names)
        like = at[1].text_input("Priced as", placeholder="openai/gpt-4o", help="SELLER/MODEL of the price list.")
        apply = at[2].checkbox(
            "Price what is booked already", help="Else it is only counted how many calls that would be."
        )
        sent = st.form_submit_button("Assign", type="primary")
    if not sent:
        return
    seller, _, model = which.partition("/")
    body = {"seller": seller, "model": model, "like": like.strip(), "apply": apply}

    def do() -> str:
        told = session.reader().api.post("/v1/prices/assign", body)
        done = "have one now" if told["applied"] else "would get one; tick the box and assign again to do so"
        return f"{told['seller']}/{told['model']} is priced as {told['like']}: {money.count(told['repriced'])} calls {done}."

    actions.act(do)


def _exceptions() -> None:
    st.subheader("Exceptions", anchor=False)
    reader = session.reader()
    if not reader.may("analyst"):
        st.caption("A key of scope analyst or admin shows them.")
        return
    kind = url_state.choice("kind", "Kind", _KINDS, "all")
    answer = states.ask("/v1/exceptions", kind=None if kind == "all" else kind, limit=200)
    found: list[dict[str, Any]] = answer.data["exceptions"]
    if not found:
        states.empty(
            "Nothing waits", "Bodies that contradict themselves would stand here, in no total until you decide."
        )
        frame.source(answer, "exceptions", downloads=False)
        return
    shown = [{"name": name, "kind": "moment" if name.endswith("_at") else "text"} for name in _EXCEPTION]
    frame.table(found, shown, "Open exceptions, oldest first")
    frame.source(answer, "exceptions", downloads=False)
    frame.files(found, list(found[0]), "exceptions")
    if reader.may("admin"):
        _decide(found)


def _decide(found: list[dict[str, Any]]) -> None:
    api = session.reader().api
    at = st.columns([2, 1, 1], vertical_alignment="bottom")
    one = at[0].selectbox("One exception", [row["exception_id"] for row in found], key="exception")
    chosen = rows.of(found, exception_id=one)[0]
    with st.expander(f"Its evidence: {chosen['detail']}"):
        st.code(_pretty(chosen["usage_body"]), language="json")

    def replay() -> str:
        told = api.post("/v1/exceptions/replay", {"exception_ids": [one]})
        return f"Read again: {', '.join(f'{name} {_size(value)}' for name, value in told.items())}."

    def dismiss() -> str:
        api.post(f"/v1/exceptions/{segment(one)}/dismiss")
        return f"{one} is marked as looked at; nothing was booked."

    if at[1].button(
        "Replay",
        help="Reads its evidence again by today's rules, and books it once if it adds up now.",
        width="stretch",
    ):
        actions.act(replay)
    if at[2].button("Dismiss", help="Marks it as looked at; it stays in no total.", width="stretch"):
        actions.act(dismiss)


def _size(value: Any) -> str:
    return money.count(len(value)) if isinstance(value, list) else str(value)


def _pretty(body: str) -> str:
    try:
        return json.dumps(json.loads(body), indent=2)
    except ValueError:
        return body
