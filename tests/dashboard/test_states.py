"""What does a reader see while it takes long, after stopping, and where something went wrong?"""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import states

WAITING = """
import threading
from concurrent.futures import Future

import streamlit as st

from dashboard import states
from dashboard.api import Answer
from dashboard.errors import ApiError

pending = st.session_state.setdefault("pending", Future())
if not pending.done() and "late" in st.query_params:
    threading.Timer(1.2, pending.set_result, [Answer("http://x/v1/me", {"n": 1})]).start()
try:
    st.write(f"answer {states.await_(pending, 'http://x/v1/me').data['n']}")
except ApiError as error:
    states.failed(error)
"""


def test_a_late_answer_is_waited_for_and_the_waiting_goes_away() -> None:
    app = AppTest.from_string(WAITING, default_timeout=10)
    app.query_params["late"] = "1"
    app.run()
    assert [one.value for one in app.markdown] == ["answer 1"]
    assert not app.info
    assert not app.button


def test_who_stopped_waiting_is_told_so_and_can_try_again() -> None:
    app = AppTest.from_string(WAITING, default_timeout=10)
    app.session_state["stopped"] = "http://x/v1/me"
    app.run()
    assert "You stopped waiting" in app.error[0].value
    assert [one.label for one in app.button] == ["Try again"]
    app.query_params["late"] = "1"
    app.button[0].click().run()
    assert [one.value for one in app.markdown] == ["answer 1"]


FAILED = """
from dashboard import states
from dashboard.errors import {kind}

states.failed({kind}("the message", {status}, {field}))
"""


@pytest.mark.parametrize(
    ("kind", "status", "field", "title", "buttons"),
    [
        ("Unreachable", "None", "None, None", "The API can't be reached", ["Try again"]),
        ("SignedOut", "401", "None, None", "You are signed out", ["Sign in again"]),
        ("NotAllowed", "403", "None, None", "Your key does not reach this", []),
        ("NotThere", "404", "None, None", "Not found", ["Try again"]),
        ("Refused", "400", "'tz', 'Mars'", "This can't be asked", ["Try again"]),
        ("BusyNow", "503", "None, None", "The API is busy", ["Try again"]),
        ("ApiError", "500", "None, None", "The API failed", ["Try again"]),
    ],
)
def test_an_error_says_what_to_do_next(kind: str, status: str, field: str, title: str, buttons: list[str]) -> None:
    app = AppTest.from_string(FAILED.format(kind=kind, status=status, field=field), default_timeout=10).run()
    told = app.error[0].value
    assert told.startswith(f"**{title}.**")
    assert "the message" in told
    assert ("(`tz` = `Mars`)" in told) == (kind == "Refused")
    assert [one.label for one in app.button] == buttons


def test_every_kind_of_error_has_something_to_do() -> None:
    assert all(then for _, then in states._NEXT.values())
