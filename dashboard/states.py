"""What does a page say where it has nothing to show: nothing there yet, still waiting, or something went wrong? And what next?"""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.api import PATIENCE_SECONDS, Answer, done
from dashboard.errors import (
    ApiError,
    BusyNow,
    Cancelled,
    NotAllowed,
    NotThere,
    Refused,
    SignedOut,
    Unreachable,
)

_STOPPED = "stopped"
_NEXT = {
    Unreachable: ("The API can't be reached", "Start it with `tokencogs serve` or `tokencogs up`, then try again."),
    SignedOut: ("You are signed out", "The key was revoked, or the session at your identity provider has ended."),
    NotAllowed: ("Your key does not reach this", "Ask an administrator for a key of the scope that is named below."),
    NotThere: ("Not found", "It may belong to another tenant, or its name is misspelt."),
    Refused: ("This can't be asked", "Change what is named below."),
    BusyNow: ("The API is busy", "Try again in a moment; nothing was lost."),
    Cancelled: ("You stopped waiting", "Choose a shorter period, or try again."),
    ApiError: ("The API failed", "Its log says why. Try again; if it stays, tell whoever runs it."),
}


def empty(what: str, then: str) -> None:
    """Nothing to show: what there is none of, and what to do to have some."""
    st.info(f"**{what}**\n\n{then}", icon=":material/inbox:")


def failed(error: ApiError) -> None:
    """Shows an error: what happened, what to do next, and a way to try again."""
    kind = next(kind for kind in type(error).__mro__ if kind in _NEXT)
    title, then = _NEXT[kind]
    about = f" (`{error.field}` = `{error.value}`)" if error.field else ""
    st.error(f"**{title}.** {then}\n\n{error.message}{about}", icon=":material/error:")
    if isinstance(error, SignedOut):
        st.button("Sign in again", on_click=session.leave)
    elif not isinstance(error, NotAllowed):
        st.button("Try again", on_click=_again)


def ask(path: str, **parameters: Any) -> Answer:
    """An answer of the API; where it takes long the page says so and lets the reader stop. Raises ApiError."""
    return await_(session.reader().api.start(path, **parameters), session.reader().api.url(path, **parameters))


def ask_all(*questions: tuple[str, dict[str, Any]]) -> list[Answer]:
    """Several answers, asked at the same time, in order."""
    api = session.reader().api
    begun = [(api.start(path, **parameters), api.url(path, **parameters)) for path, parameters in questions]
    return [await_(pending, url) for pending, url in begun]


def await_(pending: Future[Answer], url: str) -> Answer:
    """Waits; a stop leaves the request to end by itself, and its answer is remembered for the next try."""
    if st.session_state.get(_STOPPED) == url:
        raise Cancelled(url)
    if not done(pending, PATIENCE_SECONDS):
        _wait(pending, url)
    return pending.result()


def _wait(pending: Future[Answer], url: str) -> None:
    place = st.empty()
    began = time.monotonic()
    with place.container():
        told = st.empty()
        st.button("Stop waiting", key=f"stop:{url}", on_click=_stop, args=(url,))
    while not done(pending, 0.25):
        # Each message is a point at which Streamlit can end this run for a click.
        told.info(f"Waiting for figures: {time.monotonic() - began:.0f} s", icon=":material/hourglass_top:")
    place.empty()


def _stop(url: str) -> None:
    st.session_state[_STOPPED] = url


def _again() -> None:
    st.session_state.pop(_STOPPED, None)
    if "reader" in st.session_state:
        session.reader().api.forget()
