"""Who is reading, and what did they choose? Sign-in by API key or OIDC, for a limited time; nothing secret leaves the server."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dashboard.api import Address, Api
from dashboard.errors import ApiError, NotAllowed, SignedOut

SESSION_MINUTES = 480
_KEY, _SINCE, _READER, _LEFT = "api_key", "signed_in_at", "reader", "signed_out"


@dataclass(frozen=True)
class Reader:
    """One reader and the choices that hold for every page.

    Attributes:
        api: as this reader sees it.
        me: answer of GET /v1/me: tenant, scope, zone, currencies, periods.
        start, end: period [start, end), days.
        tz: zone of these days. currency: the one all amounts are converted to; None: as billed.
        exact: whether every digit is shown.
    """

    api: Api
    me: dict[str, Any]
    start: str = ""
    end: str = ""
    tz: str = "UTC"
    currency: str | None = None
    exact: bool = False

    @property
    def period(self) -> dict[str, str]:
        """Parameters of a question about the period."""
        return {"from_": self.start, "to": self.end}

    def may(self, scope: str) -> bool:
        """Whether the key reaches what needs this scope; the API decides, this only spares a useless button."""
        return scope in self.me["reaches"]


def keep(reader: Reader) -> None:
    """Makes the reader known to the page that is drawn."""
    st.session_state[_READER] = reader


def reader() -> Reader:
    """The reader of this page."""
    found: Reader = st.session_state[_READER]
    return found


def enter(key: str) -> dict[str, Any] | None:
    """Signs in with a key where it is good: who it is, else None. Raises ApiError where nobody could tell."""
    if not key.isascii() or not key.isprintable() or not key:
        return None  # no header could carry it
    try:
        me: dict[str, Any] = Api(Address.from_environment(), key).get("/v1/me").data
    except SignedOut:
        return None
    st.session_state[_KEY], st.session_state[_SINCE] = key, time.monotonic()
    st.session_state.pop(_LEFT, None)
    return me


def leave() -> None:
    """Signs out: forgets the key and every choice of this session."""
    oidc = secret_of_oidc() is not None
    for name in list(st.session_state):
        del st.session_state[name]
    st.session_state[_LEFT] = True
    if oidc:
        st.logout()


def current() -> Api | None:
    """The API with the key of this session, or the token of the identity provider; None where nobody is signed in (any more)."""
    key = st.session_state.get(_KEY)
    if key is not None and _expired():
        leave()
        st.session_state["expired"] = True
        return None
    if key is None and not st.session_state.get(_LEFT):
        key = secret_of_oidc() or os.environ.get("TOKENCOGS_DASHBOARD_KEY") or None
    return None if key is None else Api(Address.from_environment(), key)


def _expired() -> bool:
    minutes = int(os.environ.get("TOKENCOGS_SESSION_MINUTES", SESSION_MINUTES))
    since: float = st.session_state[_SINCE]
    return time.monotonic() > since + minutes * 60


def oidc_offered() -> bool:
    """Whether an identity provider is configured (`tokencogs dashboard --oidc FILE`)."""
    return bool(os.environ.get("TOKENCOGS_DASHBOARD_OIDC"))


def secret_of_oidc() -> str | None:
    """The identity token of a reader who signed in at the provider; the API checks it."""
    if not oidc_offered() or not st.user.get("is_logged_in"):
        return None
    token = dict(st.user.tokens).get("id")
    return None if token is None else str(token)


def sign_in_page() -> None:
    """Asks for a key, or sends the reader to the identity provider."""
    st.title("tokencogs")
    if st.session_state.pop("expired", False):
        st.warning("Your session has expired. Sign in again; the link in your address bar keeps your filters.")
    with st.form("sign-in"):
        key = st.text_input(
            "API key",
            type="password",
            autocomplete="current-password",
            placeholder="tc_yourtenant_...",
            help="A key of scope viewer, analyst or admin. It stays in this server's memory and is in no link and no log.",
        )
        sent = st.form_submit_button("Sign in", type="primary")
    if oidc_offered():
        st.button("Sign in with your company's account", on_click=st.login)
    st.caption("An administrator makes a key: `tokencogs key create --tenant TENANT --scope viewer`")
    if sent:
        _try(key.strip())


def _try(key: str) -> None:
    try:
        known = enter(key)
    except NotAllowed:
        st.error("This key may only send usage. Use one of scope viewer, analyst or admin.")
        return
    except ApiError as error:
        st.error(f"{error.message}. Is the API running (`tokencogs serve`)?")
        return
    if known is None:
        st.error("This key is missing, malformed, unknown or revoked. Check that all of it was copied.")
    else:
        st.rerun()
