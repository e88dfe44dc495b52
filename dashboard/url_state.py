"""How do filters live in the URL, so that a link shows another reader the same page?

The URL is written at each run with what is chosen, defaults too: a default may be another one tomorrow. A parameter that is not what
was last written came with a link, and goes before what the widget holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import streamlit as st

CUSTOM = "custom"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def choice(
    name: str,
    label: str,
    options: Mapping[str, str],
    default: str | None = None,
    help: str | None = None,
    at: Any = st,
    everywhere: bool = False,
) -> str:
    """A selectbox bound to the URL parameter `name`.

    Args:
        options: value in the URL -> label; at least one.
        default: value where the URL says nothing usable; None: the first.
        at: container.
        everywhere: the same on all pages: a page that the menu opens, whose URL is empty, goes on with what was chosen before.
    """
    key = f"url:{name}"
    linked = _linked(name)
    if everywhere and name not in st.query_params:
        linked = st.session_state.get(f"written:{name}")
    if linked is not None and linked in options:
        st.session_state[key] = linked
    elif st.session_state.get(key) not in options:
        st.session_state[key] = default if default in options else next(iter(options))
    chosen: str = at.selectbox(label, list(options), format_func=lambda value: options[value], key=key, help=help)
    _write(name, chosen)
    return chosen


def pick(
    name: str, label: str, options: Iterable[str], help: str | None = None, at: Any = st, none: str = "All"
) -> str:
    """A selectbox bound to the URL parameter `name` that also takes what is typed; empty: none is chosen."""
    key = f"url:{name}"
    linked = _linked(name)
    if linked is not None:
        st.session_state[key] = linked or None
    offered = list(dict.fromkeys([*options, *([st.session_state[key]] if st.session_state.get(key) else [])]))
    chosen = at.selectbox(
        label, offered, index=None, key=key, help=help, placeholder=none, accept_new_options=True, format_func=str
    )
    _write(name, chosen or "")
    return chosen or ""


def tabs(name: str, label: str, options: Mapping[str, str], default: str) -> str:
    """One of a few parts of a page, bound to the URL parameter `name`; arguments as of `choice`."""
    key = f"url:{name}"
    linked = _linked(name)
    if linked is not None and linked in options:
        st.session_state[key] = linked
    elif st.session_state.get(key) not in options:
        st.session_state[key] = default
    chosen = st.segmented_control(
        label,
        list(options),
        format_func=lambda value: options[value],
        key=key,
        required=True,
        label_visibility="collapsed",
    )
    _write(name, chosen or default)
    return chosen or default


def words(name: str, label: str, help: str | None = None, at: Any = st, placeholder: str | None = None) -> str:
    """A text field bound to the URL parameter `name`; empty is no filter."""
    key = f"url:{name}"
    linked = _linked(name)
    if linked is not None:
        st.session_state[key] = linked
    text = str(at.text_input(label, key=key, help=help, placeholder=placeholder) or "").strip()
    _write(name, text)
    return text


def flag(name: str, label: str, help: str | None = None, at: Any = st) -> bool:
    """A toggle bound to the URL parameter `name`."""
    key = f"url:{name}"
    linked = _linked(name)
    if linked is not None:
        st.session_state[key] = linked == "1"
    on = bool(at.toggle(label, key=key, help=help))
    _write(name, "1" if on else "")
    return on


def period(periods: list[dict[str, Any]], at: Any = st) -> tuple[str, str]:
    """A period [from, to), a named one or two days, bound to `from` and `to`."""
    named = {one["name"]: one for one in periods}
    start, end = _linked("from"), _linked("to")
    if start is not None or end is not None:
        _arrive(named, start or st.query_params.get("from", ""), end or st.query_params.get("to", ""))
    elif "from" not in st.query_params and "written:from" in st.session_state:
        # Another page, chosen in the menu: its URL is empty, and its widgets know nothing of a link.
        _arrive(named, st.session_state["written:from"], st.session_state["written:to"])
    labels = {name: one["label"] for name, one in named.items()} | {CUSTOM: "Other days"}
    if st.session_state.get("period") not in labels:
        st.session_state["period"] = periods[0]["name"]
    chosen = at.selectbox("Period", list(labels), format_func=lambda name: labels[name], key="period")
    if chosen == CUSTOM:
        first = periods[0]
        st.session_state.setdefault("period_from", date.fromisoformat(first["from"]))
        st.session_state.setdefault("period_to", date.fromisoformat(first["to"]))
        days = at.columns(2)
        start = days[0].date_input("From", key="period_from", format="YYYY-MM-DD").isoformat()
        end = days[1].date_input("To, not included", key="period_to", format="YYYY-MM-DD").isoformat()
    else:
        start, end = named[chosen]["from"], named[chosen]["to"]
    _write("from", start)
    _write("to", end)
    return start, end


def _arrive(named: Mapping[str, Mapping[str, Any]], start: str, end: str) -> None:
    """Takes a period over from a link; one that is no pair of days is left out."""
    for name, one in named.items():
        if (one["from"], one["to"]) == (start, end):
            st.session_state["period"] = name
            return
    try:
        days = [date.fromisoformat(text) for text in (start, end) if _DAY.fullmatch(text)]
    except ValueError:
        return
    if len(days) == 2:
        st.session_state["period"] = CUSTOM
        st.session_state["period_from"], st.session_state["period_to"] = days


def link(page: str, label: str, at: Any = st, icon: str | None = None, **parameters: str | None) -> None:
    """A link to another page that takes the period and what is given along in its URL."""
    taken = {name: st.query_params[name] for name in ("from", "to", "tz", "currency") if name in st.query_params}
    more = {name: value for name, value in parameters.items() if value}
    pages = st.session_state.get("pages", {})
    if page in pages:
        at.page_link(pages[page], label=label, icon=icon, query_params=taken | more)


def _linked(name: str) -> str | None:
    """The URL's value where it is not what this session wrote last."""
    said = st.query_params.get(name)
    return said if said is not None and said != st.session_state.get(f"written:{name}") else None


def _write(name: str, value: str) -> None:
    st.session_state[f"written:{name}"] = value
    if value:
        if st.query_params.get(name) != value:
            st.query_params[name] = value
    elif name in st.query_params:
        del st.query_params[name]
