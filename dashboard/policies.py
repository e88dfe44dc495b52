"""By which dated rules is it booked and reported? The part of the administration page that shows and states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import actions, frame, session, states

PURPOSES = ("production", "free", "trial", "eval", "internal", "training", "pool_idle", "pool_gap", "unused_capacity")
LINES = ("cost_of_revenue", "research_and_development", "sales_and_marketing", "internal")
RULES = ("account", "seats", "use")


def show() -> None:
    """Purposes, account revenue, and which cost is booked."""
    purposes, revenue, basis = states.ask_all(
        ("/v1/policies/purposes", {}), ("/v1/policies/account-revenue", {}), ("/v1/cost-basis", {})
    )
    st.subheader("Where a purpose stands on the statement", anchor=False)
    _table(purposes.data["purposes"], "Lines by purpose and day; own rows replace the default")
    frame.source(purposes, "purposes", downloads=False)
    _purpose_form()
    st.subheader("Where account revenue goes", anchor=False)
    st.caption(
        "Invoices that name an account and no user: the row of the account, its seats equally, or its users by their requests."
    )
    _table(revenue.data["rules"], "Rules by day", "No rule: such revenue stays on the account's row.")
    frame.source(revenue, "account-revenue", downloads=False)
    _revenue_form()
    st.subheader("Which cost is booked", anchor=False)
    st.caption(
        "Where a provider states its own cost beside the tokens: the calculated one, unless a rule says `reported`."
    )
    _table(basis.data["rules"], "Rules by provider and surface", "No rule: the calculated cost is booked everywhere.")
    frame.source(basis, "cost-basis", downloads=False)
    _basis_form()


def _table(rows: list[dict[str, Any]], caption: str, empty: str = "None") -> None:
    if rows:
        frame.table(rows, [{"name": name, "kind": "text"} for name in rows[0]], caption)
    else:
        st.caption(empty)


def _purpose_form() -> None:
    if not session.reader().may("admin"):
        return
    with st.form("purpose"):
        at = st.columns(3)
        purpose = at[0].selectbox("Purpose", PURPOSES)
        line = at[1].selectbox("Statement line", LINES)
        start = at[2].date_input("From the day on", format="YYYY-MM-DD", key="purpose_from")
        sent = st.form_submit_button("State")
    if sent:
        body = {"purpose": purpose, "statement_line": line, "effective_from": start.isoformat()}
        actions.act(lambda: _put("/v1/policies/purposes", body, f"{purpose} stands on {line} from {start} on."))


def _revenue_form() -> None:
    if not session.reader().may("admin"):
        return
    with st.form("account-revenue"):
        at = st.columns(2)
        rule = at[0].selectbox("Rule", RULES)
        start = at[1].date_input("From the day on", format="YYYY-MM-DD", key="revenue_from")
        sent = st.form_submit_button("State")
    if sent:
        body = {"rule": rule, "effective_from": start.isoformat()}
        actions.act(
            lambda: _put("/v1/policies/account-revenue", body, f"Account revenue goes by {rule} from {start} on.")
        )


def _basis_form() -> None:
    if not session.reader().may("admin"):
        return
    with st.form("cost-basis"):
        at = st.columns(3)
        provider = at[0].text_input("Provider", placeholder="openrouter")
        surface = at[1].text_input("Surface", help="Empty: all of the provider.")
        basis = at[2].selectbox("Booked is", ["price_list", "reported"])
        sent = st.form_submit_button("Save")
    if sent:
        body = {"provider": provider.strip(), "surface": surface.strip(), "basis": basis}
        actions.act(
            lambda: _put("/v1/cost-basis", body, f"From now on {basis} costs are booked for {provider} {surface}.")
        )


def _put(path: str, body: Mapping[str, str], told: str) -> str:
    session.reader().api.put(path, body)
    return told
