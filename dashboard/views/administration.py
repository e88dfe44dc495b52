"""Who may ask, what do plans cost, by which policies is it booked, and which months are closed?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import actions, closes, frame, policies, session, states, url_state
from dashboard.api import segment
from dashboard.definitions_plans import DATED

TABS = {"keys": "Keys", "people": "People", "plans": "Plans", "policies": "Policies", "closes": "Closed months"}
_ACTS = {"keys": "key", "people": "login", "closes": "month"}
_ACT = ("at", "actor", "action", "subject", "before", "after")
SCOPES = {
    "viewer": "viewer: reports, plans, prices",
    "analyst": "analyst: also single events and exceptions",
    "admin": "admin: everything",
    "ingest": "ingest: sends usage, reads nothing",
}


def page() -> None:
    st.title("Administration")
    actions.tell()
    chosen = url_state.tabs("view", "Show", TABS, "keys")
    if chosen in ("keys", "people") and not session.reader().may("admin"):
        states.empty("Only an admin key sees keys and people", "Ask whoever gave you yours.")
        return
    {"keys": _keys, "people": _people, "plans": _plans, "policies": policies.show, "closes": closes.show}[chosen]()
    if chosen in _ACTS:
        _acts(_ACTS[chosen])


def _acts(kind: str) -> None:
    """Who changed what here, and when."""
    acts = states.ask("/v1/audit", kind=kind, limit=50)
    st.subheader("Who changed what", anchor=False)
    if acts.data["acts"]:
        columns = [{"name": name, "kind": "moment" if name == "at" else "text"} for name in _ACT]
        frame.table(acts.data["acts"], columns, "The last 50 acts, the newest first")
    else:
        st.caption("Nobody has changed anything yet.")
    frame.source(acts, f"audit-{kind}", downloads=False)


def _keys() -> None:
    made = st.session_state.pop("new_key", None)
    if made:
        st.success("Copy the key now: it can't be shown again.")
        st.code(made, language=None)
    answer = states.ask("/v1/keys")
    found: list[dict[str, Any]] = answer.data["keys"]
    shown = [
        {**row, "state": "revoked" if row["revoked_at"] else "yours" if row["asking"] else "good"} for row in found
    ]
    names = ("key_id", "scope", "label", "state", "created_at", "revoked_at")
    kinds = {"created_at": "moment", "revoked_at": "moment"}
    frame.table(
        shown, [{"name": name, "kind": kinds.get(name, "text")} for name in names], "API keys, the oldest first"
    )
    frame.source(answer, "keys", downloads=False)
    at = st.columns(2)
    with at[0].form("make-key"):
        st.markdown("**Make a key**")
        scope = st.selectbox("Scope", list(SCOPES), format_func=lambda name: SCOPES[name])
        label = st.text_input("Who holds it", placeholder="finance sheet")
        sent = st.form_submit_button("Make")
    if sent:
        actions.act(lambda: _make(scope, label))
    good = [row["key_id"] for row in found if row["revoked_at"] is None and not row["asking"]]
    with at[1].container(border=True):
        st.markdown("**End a key**")
        if not good:
            st.caption("There is no other good key.")
            return
        key_id = st.selectbox("Key", good)
        if actions.sure("key", "End it", "It stops at once, for whoever holds it."):
            actions.act(lambda: _end(key_id))


def _make(scope: str, label: str) -> str:
    told = session.reader().api.post("/v1/keys", {"scope": scope, "label": label})
    st.session_state["new_key"] = told["key"]
    return f"Key {told['key_id']} of scope {told['scope']} was made."


def _end(key_id: str) -> str:
    session.reader().api.delete(f"/v1/keys/{segment(key_id)}")
    return f"Key {key_id} has ended."


def _people() -> None:
    answer = states.ask("/v1/logins")
    issuer = answer.data["issuer"]
    if issuer is None:
        states.empty(
            "No identity provider is configured",
            "Start the API with `TOKENCOGS_OIDC_ISSUER` and `TOKENCOGS_OIDC_AUDIENCE`, and the dashboard with `--oidc FILE`.",
        )
        return
    st.caption(f"People who sign in at {issuer}.")
    names = ("subject", "scope", "label", "created_at")
    frame.table(answer.data["logins"], [{"name": name, "kind": "text"} for name in names], "Who may sign in")
    frame.source(answer, "logins", downloads=False)
    with st.form("login"):
        at = st.columns(3)
        subject = at[0].text_input("Subject", help="`sub` of the person's identity token.")
        scope = at[1].selectbox("Scope", ["viewer", "analyst", "admin"], format_func=lambda name: SCOPES[name])
        label = at[2].text_input("Who that is")
        sent = st.form_submit_button("Let in")
    if sent:
        actions.act(lambda: _let_in(subject.strip(), scope, label))
    known = [row["subject"] for row in answer.data["logins"]]
    if known:
        subject = st.selectbox("Person", known)
        if actions.sure("login", "Take access away", "It ends at once."):
            actions.act(lambda: _take_away(subject))


def _let_in(subject: str, scope: str, label: str) -> str:
    session.reader().api.put("/v1/logins", {"subject": subject, "scope": scope, "label": label})
    return f"{label or subject} may sign in as {scope}."


def _take_away(subject: str) -> str:
    session.reader().api.delete("/v1/logins", subject=subject)
    return f"{subject} has no access any more."


def _plans() -> None:
    plans, prices = states.ask_all(("/v1/plans", {}), ("/v1/plan-prices", {}))
    found = plans.data["plans"]
    if not found:
        states.empty("No plans yet", "`tokencogs plan set pro --name Pro`, or `PUT /v1/plans/pro`.")
    else:
        kinds = {"acquisition_cost": "money"}
        names = ("plan", "display_name", "kind", "acquisition_cost")
        own = [{**row, "billing_currency": session.reader().me["billing_currency"]} for row in found]
        frame.table(own, [{"name": name, "kind": kinds.get(name, "text")} for name in names], "Plans")
    frame.source(plans, "plans", downloads=False)
    dated = prices.data["prices"]
    if dated:
        money = {"price": "money", "unit_price": "money"}
        columns = [{"name": name, "kind": money.get(name, "text"), "meaning": DATED.get(name, "")} for name in dated[0]]
        frame.table(dated, columns, "Dated prices of plans")
    else:
        st.caption("No dated prices: subscriptions name their own.")
    frame.source(prices, "plan-prices", downloads=False)
    if session.reader().may("admin"):
        _plan_form()


def _plan_form() -> None:
    with st.form("plan"):
        st.markdown("**Add or rename a plan**")
        at = st.columns(4)
        plan = at[0].text_input("Key", placeholder="pro")
        name = at[1].text_input("Name on reports", placeholder="Pro")
        kind = at[2].selectbox("Kind", ["flat", "per_seat", "usage", "credits", "free", "trial"])
        cost = at[3].text_input("Cost of winning a subscriber", placeholder="120.00")
        sent = st.form_submit_button("Save")
    if sent:
        body = {"display_name": name.strip() or None, "kind": kind, "acquisition_cost": cost.strip() or None}
        actions.act(lambda: _save_plan(plan.strip(), body))


def _save_plan(plan: str, body: dict[str, Any]) -> str:
    told = session.reader().api.put(f"/v1/plans/{segment(plan)}", body)
    return f"Plan {told['plan']} is {told['display_name']}, kind {told['kind']}."
