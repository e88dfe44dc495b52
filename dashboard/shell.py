"""What is around every page? Sign-in, the choices that hold for all pages, and what is shown where a page fails."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import available_timezones

import streamlit as st

from dashboard import session, states, url_state
from dashboard.errors import ApiError
from dashboard.theme import CSS

AS_BILLED = "as-billed"


def show(page: Callable[[], None]) -> None:
    """Draws one page for whoever is signed in, or asks to sign in."""
    st.html(CSS)
    api = session.current()
    if api is None:
        session.sign_in_page()
        return
    try:
        me = api.get("/v1/me").data
        session.keep(session.Reader(api, me))
        _choices()
        page()
    except ApiError as error:
        states.failed(error)


def _choices() -> None:
    """The sidebar: whose figures, of which period, in whose days and money."""
    known = session.reader()
    me, at = known.me, st.sidebar
    start, end = url_state.period(me["periods"], at)
    own = me["reporting_tz"]
    zones = {own: f"{own} (reporting zone)", "UTC": "UTC"} | {name: name for name in sorted(available_timezones())}
    zones[own] = f"{own} (reporting zone)"
    tz = url_state.choice(
        "tz",
        "Time zone",
        zones,
        own,
        "Whose days and months are meant. Some reports know only one.",
        at,
        everywhere=True,
    )
    money = {AS_BILLED: "As billed"} | {code: code for code in me["convertible"]}
    currency = url_state.choice(
        "currency",
        "Currency",
        money,
        AS_BILLED,
        "Every day is converted at its own rate; the files name each. Rates come by `tokencogs fx import`.",
        at,
        everywhere=True,
    )
    exact = url_state.flag("exact", "Every digit", "Show amounts unrounded, as the API sends them.", at)
    at.divider()
    at.caption(f"**{me['display_name']}** (`{me['tenant']}`), scope {me['scope']}")
    buttons = at.columns(2)
    buttons[0].button("Refresh", on_click=known.api.forget, help="Ask for all figures anew.", width="stretch")
    buttons[1].button("Sign out", on_click=session.leave, width="stretch")
    chosen = None if currency == AS_BILLED else currency
    session.keep(session.Reader(known.api, me, start, end, tz, chosen, exact))
