"""How does a reader change something: asked once more, done through the API, told what came of it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard.errors import ApiError

_TOLD = "told"


def tell() -> None:
    """What the last act came to; at the head of a page that acts."""
    told = st.session_state.pop(_TOLD, None)
    if told is not None:
        (st.success if told[0] else st.error)(told[1])


def act(do: Callable[[], str], at: Any = st) -> None:
    """Does it, draws the page anew and tells what it came to; `do` returns that text. An error of the API is told as it is."""
    try:
        with at.spinner("Working"):
            st.session_state[_TOLD] = (True, do())
    except ApiError as error:
        about = f" ({error.field} = {error.value})" if error.field else ""
        st.session_state[_TOLD] = (False, f"Nothing was changed: {error.message}{about}")
    st.rerun()


def sure(name: str, label: str, what: str, at: Any = st) -> bool:
    """A button behind a tick, for what can't be taken back; true in the run in which it was pressed."""
    ticked = at.checkbox(what, key=f"sure:{name}")
    return bool(at.button(label, key=f"do:{name}", type="primary", disabled=not ticked))
