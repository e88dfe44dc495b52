"""Which pages are there? Streamlit runs this file for each reader: `tokencogs dashboard`."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import streamlit as st

from dashboard import shell

PAGES = {
    "Money": (
        ("overview", "Overview", ":material/monitoring:"),
        ("explorer", "Cost explorer", ":material/travel_explore:"),
    ),
    "Margin": (
        ("users", "Users and accounts", ":material/group:"),
        ("plans", "Plans", ":material/loyalty:"),
        ("bridge", "Margin bridge", ":material/waterfall_chart:"),
    ),
    "Traffic": (
        ("workload", "Workload", ":material/stacked_line_chart:"),
        ("selfhosted", "Self-hosted", ":material/memory:"),
    ),
    "Trust": (
        ("quality", "Data quality", ":material/fact_check:"),
        ("prices", "Prices", ":material/sell:"),
        ("administration", "Administration", ":material/settings:"),
    ),
}
"""Section -> pages: (module in dashboard/views and path of the URL, title, icon)."""


def draw(view: str) -> None:
    """One page of dashboard/views; only the page that is read is loaded."""
    shell.show(import_module(f"dashboard.views.{view}").page)


def main() -> None:
    """The navigation, and the page that the URL names."""
    st.set_page_config(page_title="tokencogs", page_icon="🪙", layout="wide")
    made = {
        section: [
            st.Page(partial(draw, view), title=title, icon=icon, url_path=view, default=view == "overview")
            for view, title, icon in views
        ]
        for section, views in PAGES.items()
    }
    st.session_state["pages"] = {page.url_path or "overview": page for pages in made.values() for page in pages}
    st.navigation(made).run()


if __name__ == "__main__":
    main()
